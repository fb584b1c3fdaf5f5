(params (K free 10.0) (r free 0.5))
(/ K (+ 1.0 (* (- K 1.0) (exp (* (- 0.0 r) t)))))
