(params (w unit 0.5) (kappa free 0.8))
(+ (* w ar) (* (- 1.0 w) y (expt (/ (+ then 0.002) (+ now 0.002)) kappa)))
