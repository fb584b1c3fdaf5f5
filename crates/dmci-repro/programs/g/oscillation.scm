;; A wave. Input: x.
(params (a free 1.0) (b free 1.0) (c free 1.0))
(* a (sin (+ (* b x) c)))
