(params (w unit 0.5) (rho unit 0.85))
(+ (* w ar) (* (- 1.0 w) (+ then (* (- y now) (expt rho h)))))
