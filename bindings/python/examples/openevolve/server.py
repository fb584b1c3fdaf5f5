"""A server that speaks like a language model: the answers are written below. It shows a whole search without a network."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What a model might propose: a mistake, a program that never ends, and two that are better and better.
ANSWERS = [
    """A cup cools towards the room.
```scheme
(params (room free 20.0) (hot positive 60.0) (rate positive 0.05))
(+ room (* hot (expp (- (* rate t)))))
```""",
    """Step by step, then.
```scheme
(params (room free 20.0) (hot positive 60.0) (rate positive 0.05))
(let loop ((x hot) (n 0)) (loop (* x (- 1 rate)) (+ n 1)))
```""",
    """The exponential was misspelt.
```scheme
;; EVOLVE-BLOCK-START
(params (room free 20.0) (hot positive 60.0) (rate positive 0.05))
(+ room (* hot (exp (- (* rate t)))))
;; EVOLVE-BLOCK-END
```""",
    """There is a step after ten minutes: milk.
```scheme
;; EVOLVE-BLOCK-START
(params (room free 20.0) (hot positive 60.0) (rate positive 0.05) (milk positive 5.0))
(define (cooling from minutes) (+ room (* (- from room) (exp (- (* rate minutes))))))
(let ((start (+ room hot)))
  (if (< t 10.0)
      (cooling start t)
      (cooling (- (cooling start 10.0) milk) (- t 10.0))))
;; EVOLVE-BLOCK-END
```""",
]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            number = len(server.prompts)
            server.prompts.append(request["messages"])
        answer = {
            "id": f"scripted-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model", "scripted"),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": ANSWERS[min(number, len(ANSWERS) - 1)]},
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def start():
    """A server on a free port of the loopback, in a thread; its prompts are kept."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.prompts, server.lock = [], threading.Lock()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/v1"
