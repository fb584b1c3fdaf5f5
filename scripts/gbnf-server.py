"""Serves a tiny language model of random weights by llama.cpp's own server, with the OpenAI interface.

A model of random weights says nothing but what a grammar allows, so it shows what the grammar is worth. Prints the
address of the server on one line, and serves until standard input ends. Needs gguf, numpy and xllamacpp from PyPI.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

WIDTH, HIDDEN, HEADS, CONTEXT = 64, 128, 4, 16384


def write_model(path: Path) -> None:
    """One layer of llama with random weights; the vocabulary is the printable characters and all bytes."""
    random = np.random.default_rng(1)
    kind = gguf.TokenType
    tokens = [(b"<unk>", kind.UNKNOWN), (b"<s>", kind.CONTROL), (b"</s>", kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>".encode(), kind.BYTE) for byte in range(256)]
    tokens += [("\u2581".encode(), kind.NORMAL)]
    tokens += [(bytes([code]), kind.NORMAL) for code in range(33, 127)]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}")

    def add(name: str, *shape: int) -> None:
        ones = name.endswith("norm.weight")
        values = np.ones(shape) if ones else random.normal(0.0, 0.5 / np.sqrt(shape[-1]), shape)
        writer.add_tensor(name, values.astype(np.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH)
    add("output.weight", len(tokens), WIDTH)
    add("blk.0.attn_norm.weight", WIDTH)
    add("blk.0.ffn_norm.weight", WIDTH)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{part}.weight", WIDTH, WIDTH)
    add("blk.0.ffn_gate.weight", HIDDEN, WIDTH)
    add("blk.0.ffn_up.weight", HIDDEN, WIDTH)
    add("blk.0.ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    path = Path(sys.argv[1])
    write_model(path)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.port = int(sys.argv[2])
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
