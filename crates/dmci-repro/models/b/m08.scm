;; M08, ten Euler steps of y' = -k y with step 0.1 from y = x: y = x (1 - 0.1 k)^10. Input: x.
(params (k free 0.5))

(let loop ((step 0) (y x))
  (if (= step 10)
      y
      (loop (+ step 1) (- y (* 0.1 k y)))))
