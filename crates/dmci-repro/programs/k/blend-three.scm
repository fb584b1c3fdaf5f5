(params (a unit 0.4) (b unit 0.5) (rho unit 0.85) (kappa free 0.8))
(+ (* a ar)
   (* (- 1.0 a) b (+ then (* (- y now) (expt rho h))))
   (* (- 1.0 a) (- 1.0 b) y (expt (/ (+ then 0.002) (+ now 0.002)) kappa)))
