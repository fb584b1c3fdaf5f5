;; M12, Newton's square root: g <- (g + x / g) / 2, five times from g = a x. Input: x.
(params (a free 0.5))

(define (improve g) (/ (+ g (/ x g)) 2))

(fold (lambda (i g) (improve g)) (* a x) (iota 5))
