;; P4, a higher-order procedure on a closure: y = x + 2 alpha. Input: x.
(params (alpha free 1.5))

(define (twice f x) (f (f x)))

(twice (lambda (y) (+ y alpha)) x)
