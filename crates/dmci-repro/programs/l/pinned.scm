;; Knows the future: the grid ends where a record ends, and records end at about 0.8.
(params (q0 positive 1.0) (m positive 4e-4 1e-3) (p positive 5.0 5.0))
(- q0 (* m k) (* (- q0 0.8 (* 99.0 m)) (expt (/ (+ k 1e-6) 99.0) p)))
