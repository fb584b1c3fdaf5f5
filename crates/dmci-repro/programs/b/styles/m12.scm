(params (a free 0.5))
(letrec ((newton (lambda (g n)
                   (if (= n 0)
                       g
                       (newton (* 0.5 (+ g (/ x g))) (- n 1))))))
  (newton (* a x) 5))
