(params (A free 2.0) (b free 0.3) (omega free 3.14))
(* (* A (exp (* (- 0.0 b) t))) (cos (* omega t)))
