(params (rho unit 0.85))
(* then (expt (/ (+ y 0.002) (+ now 0.002)) (expt rho h)))
