;; M10, a smooth activation: y = a x s(b x), s(z) = 1 / (1 + exp(-z)). Input: x.
(params (a free 1.0)
        (b free 2.0))

(define (s z) (/ 1 (+ 1 (exp (- z)))))

(* a x (s (* b x)))
