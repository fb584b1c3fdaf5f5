;; A power law. Input: x.
(params (a free 1.0) (b free 1.0))
(* a (expt x b))
