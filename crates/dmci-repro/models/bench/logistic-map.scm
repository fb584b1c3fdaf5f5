;; The logistic map: x <- r x (1 - x), `steps` times from x0. Inputs: steps (16, 50), x0 (0.4).
(params (r free 3.2))

(loop ((n 0) (x x0))
  (if (= n steps)
      x
      (recur (+ n 1) (* r x (- 1 x)))))
