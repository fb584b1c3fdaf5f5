;; C07, a filter of second order: y_n = a1 y_(n-1) + a2 y_(n-2) + b0 x, 12 steps from 0, 0. Input: x.
(params (a1 free 0.5)
        (a2 free -0.3)
        (b0 free 1.0))

(loop ((n 0) (y 0.0) (before 0.0))
  (if (= n 12)
      y
      (recur (+ n 1)
             (+ (* a1 y) (* a2 before) (* b0 x))
             y)))
