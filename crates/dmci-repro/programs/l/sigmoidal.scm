(params (q0 positive 1.0) (m positive 4e-4 1e-3) (d positive 1e-3 5e-3) (kn positive 75.0 100.0) (wd positive 10.0 30.0))
(- q0 (* m k) (* d k (sigmoid (/ (- k kn) wd))))
