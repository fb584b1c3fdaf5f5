"""The corpus through Python, in both modes: values and gradients against the references of other systems."""

import math

import numpy as np
import pytest

from dmci import Model, Program



def close(a, b, rel, tiny):
    return math.isclose(a, b, rel_tol=rel, abs_tol=tiny)


@pytest.mark.parametrize("mode", ["direct", "dmci"])
def test_programs(shared_corpus, mode):
    """Each program alone: value and gradient of every example."""
    checked = 0
    for entry in shared_corpus:
        program = Program(entry["source"], entry["id"])
        for example, expected, grad in zip(entry["examples"], entry["expected"], entry["grad"]):
            names = {**entry["params"], **example}
            found = program.grad(list(entry["params"]), mode=mode, names=names)
            assert close(found.value, expected, 1e-12, 1e-300), (entry["id"], found.value, expected)
            scale = max((abs(g) for g in grad.values()), default=0.0)
            for name, g in grad.items():
                assert close(found.grad[name], g, 1e-7, 1e-9 * scale + 1e-12), (entry["id"], name)
                checked += 1
    assert checked > 1000


@pytest.mark.parametrize("mode", ["direct", "dmci"])
def test_models(shared_corpus, mode):
    """All examples of a program in one call."""
    for entry in shared_corpus:
        params = {name: float(value) for name, value in entry["params"].items()}
        model = Model(Program(entry["source"], entry["id"]), params=params, inputs=entry["inputs"], mode=mode)
        rows = {name: [example[name] for example in entry["examples"]] for name in entry["inputs"]}
        if not rows:
            continue
        values, gradients = model.value_and_grad(None, rows)
        np.testing.assert_allclose(values, entry["expected"], rtol=1e-12, err_msg=entry["id"])
        expected = np.array([[g[name] for name in params] for g in entry["grad"]])
        scale = np.abs(expected).max() if expected.size else 0.0
        np.testing.assert_allclose(gradients, expected, rtol=1e-7, atol=1e-9 * scale + 1e-12, err_msg=entry["id"])
