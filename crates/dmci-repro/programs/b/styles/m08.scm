(params (k free 0.5))
(letrec ((euler (lambda (y n)
                  (if (= n 0)
                      y
                      (euler (+ y (* 0.1 (* (- 0.0 k) y))) (- n 1))))))
  (euler x 10))
