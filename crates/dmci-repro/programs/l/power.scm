(params (q0 positive 1.0) (B positive 0.005 0.05) (p positive 0.8 2.0))
(- q0 (* B (expt (+ k 1e-6) p)))
