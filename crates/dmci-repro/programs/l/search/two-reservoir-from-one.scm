;; The family that makes the synthetic cells, each from a capacity of 1 on, as the data are.
(params (a free 0.0165) (c free 0.0022))
(min (- 1 (* a (sqrt k))) (- 1 (* c k)))
