;; M13, composed transformations, closures that return closures: y = a x + b. Input: x.
(params (a free 2.5)
        (b free 1.0))

(define (scaling factor) (lambda (x) (* factor x)))
(define (shift offset) (lambda (x) (+ x offset)))
(define (compose f g) (lambda (x) (f (g x))))

((compose (shift b) (scaling a)) x)
