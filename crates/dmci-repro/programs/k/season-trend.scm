(params (kappa free 0.8) (mu free 0.3) (rho unit 0.5))
(* y (expt (/ (+ then 0.002) (+ now 0.002)) kappa)
   (expt (/ (+ y 0.002) (+ y1 0.002)) (* mu (/ (- 1.0 (expt rho h)) (- 1.0 rho)))))
