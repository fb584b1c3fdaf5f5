;; C01, Lotka and Volterra: x' = a x - b x y, y' = 0.02 x y - 0.5 y; 20 Euler steps of 0.05
;; from (x0, 5); the prey at the end. Input: x0.
(params (a free 1.0)
        (b free 0.1))

(define h 0.05)

(let loop ((n 20) (x x0) (y 5.0))
  (if (= n 0)
      x
      (loop (- n 1)
            (+ x (* h (- (* a x) (* b x y))))
            (+ y (* h (- (* 0.02 x y) (* 0.5 y)))))))
