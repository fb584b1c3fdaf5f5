(params (rho unit 0.85))
(+ then (* (- y now) (expt rho h)))
