;; C04, the logistic map: x <- r x (1 - x), ten times from x0. Input: x0.
(params (r free 2.5))

(define (iterate f n x)
  (if (= n 0) x (iterate f (- n 1) (f x))))

(iterate (lambda (x) (* r x (- 1 x))) 10 x0)
