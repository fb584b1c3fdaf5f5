; A loop of float arithmetic that calls a procedure it was given: the midpoint rule.
(define (integrate f a b n)
  (let ((h (/ (- b a) n)))
    (let loop ((i 0) (x (+ a (* 0.5 h))) (sum 0.0))
      (if (= i n) (* h sum) (loop (+ i 1) (+ x h) (+ sum (f x)))))))
(integrate (lambda (x) (/ (* x x) (+ 1.0 (* x (* x x))))) 0.0 10.0 1000000)
