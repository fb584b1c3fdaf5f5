;; The smooth seed of the synthetic search: capacity falls with the root of the cycle, in every cell at its own speed.
(params (q0 free 1.0 (per cell)) (b free 0.02 (per cell)))
(hole fade (k) (- q0 (* b (sqrt k))))
