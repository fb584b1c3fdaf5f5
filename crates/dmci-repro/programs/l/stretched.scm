(params (q0 positive 1.0) (qinf unit 0.6) (tau positive 90.0 100.0) (beta positive 1.0 2.0))
(+ qinf (* (- q0 qinf) (exp (- (expt (/ (+ k 1e-6) tau) beta)))))
