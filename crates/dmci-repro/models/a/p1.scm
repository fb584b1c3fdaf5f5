;; P1, nested arithmetic: y = alpha x^2. Input: x.
(params (alpha free 0.5))

(* alpha (* x x))
