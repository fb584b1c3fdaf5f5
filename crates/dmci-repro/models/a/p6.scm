;; P6, a composition: y = a (x + b)^2 + c. Input: x.
(params (a free 2.0)
        (b free 0.5)
        (c free 1.0))

(define (g x) (+ x b))
(define (f u) (+ (* a (* u u)) c))

(f (g x))
