(params (a free 0.5))
(letrec ((fact (lambda (n) (if (= n 0) 1.0 (* n (fact (- n 1))))))
         (power (lambda (b n) (if (= n 0) 1.0 (* b (power b (- n 1))))))
         (sum (lambda (i acc)
                (if (> i 8)
                    acc
                    (sum (+ i 1) (+ acc (/ (power (* a x) i) (fact i))))))))
  (sum 0 0.0))
