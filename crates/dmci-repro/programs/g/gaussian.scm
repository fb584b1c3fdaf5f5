;; A bump. Input: x.
(params (a free 1.0) (b free 1.0) (c free 1.0))
(* a (exp (- (/ (square (- x b)) (* 2.0 (square c))))))
