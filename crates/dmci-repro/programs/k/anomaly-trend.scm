(params (rho unit 0.85) (mu free 0.3) (phi unit 0.6))
(+ then (* (- y now) (expt rho h)) (* mu (- y y1) (/ (- 1.0 (expt phi h)) (- 1.0 phi))))
