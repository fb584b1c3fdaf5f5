;; A step with a soft edge. Input: x.
(params (a free 1.0) (b free 1.0) (c free 1.0))
(/ a (+ 1.0 (exp (- (* b (- x c))))))
