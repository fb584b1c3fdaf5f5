;; The family that makes the synthetic cells, each from any capacity on.
(params (q0 free 1.0) (a free 0.0165) (c free 0.0022))
(* q0 (min (- 1 (* a (sqrt k))) (- 1 (* c k))))
