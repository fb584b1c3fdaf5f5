(params (k free 8.99))
(let ((top (* k (* q1 q2))))
  (/ top (* r r)))
