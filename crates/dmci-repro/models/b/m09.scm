;; M09, the series of exp(a x) to order 8: the sum of (a x)^i / i! for i = 0 .. 8. Input: x.
(params (a free 0.5))

(define (factorial n)
  (if (= n 0) 1 (* n (factorial (- n 1)))))

(define (power base n)
  (if (= n 0) 1 (* base (power base (- n 1)))))

(define (series z n)
  (let ((term (/ (power z n) (factorial n))))
    (if (= n 0)
        term
        (+ term (series z (- n 1))))))

(series (* a x) 8)
