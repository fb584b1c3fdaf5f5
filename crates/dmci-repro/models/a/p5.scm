;; P5, two procedures: y = a x + b + x^2. Input: x.
(params (a free 2.0)
        (b free 1.5))

(define (f x) (* a x))
(define (g x) (+ b (* x x)))

(+ (f x) (g x))
