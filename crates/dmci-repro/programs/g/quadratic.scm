;; A parabola. Input: x.
(params (a free 1.0) (b free 1.0) (c free 1.0))
(+ (* a (* x x)) (* b x) c)
