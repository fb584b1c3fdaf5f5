;; Exponential decay. Input: x.
(params (a free 1.0) (b free 1.0))
(* a (exp (- (* b x))))
