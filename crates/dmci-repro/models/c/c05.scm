;; C05, a continued fraction: f_0 = 0, f_n = a x / (1 + f_(n-1)); f_8. Input: x.
(params (a free 0.5))

(define (f n)
  (if (= n 0)
      0
      (/ (* a x) (+ 1 (f (- n 1))))))

(f 8)
