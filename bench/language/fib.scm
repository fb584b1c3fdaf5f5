; Calls and small integers. The last line of every program here is what is timed.
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(fib 30)
