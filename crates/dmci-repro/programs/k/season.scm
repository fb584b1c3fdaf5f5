(params (kappa free 0.8))
(* y (expt (/ (+ then 0.002) (+ now 0.002)) kappa))
