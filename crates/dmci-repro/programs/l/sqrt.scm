(params (q0 positive 1.0) (B positive 0.016 0.05))
(- q0 (* B (sqrt (max k 1e-8))))
