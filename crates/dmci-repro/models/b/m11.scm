;; M11, a recursive filter: y <- alpha x + (1 - alpha) y, eight times from 0,
;; which is x (1 - (1 - alpha)^8). Input: x.
(params (alpha free 0.3))

(do ((i 0 (+ i 1))
     (y 0 (+ (* alpha x) (* (- 1 alpha) y))))
    ((= i 8) y))
