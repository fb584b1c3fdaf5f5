(params (q0 positive 1.0) (a positive 0.012 0.05) (c positive 0.0015 0.01))
(* q0 (min (- 1.0 (* a (sqrt (max k 1e-8)))) (- 1.0 (* c k))))
