;; A square root by Newton's method, to a tolerance: g <- (g + x / g) / 2 from g = a x until
;; |g g - x| < tol max(1, x). Inputs: x, tol.
(params (a positive 0.5))

(let improve ((g (* a x)))
  (if (< (abs (- (* g g) x)) (* tol (max 1 x)))
      g
      (improve (/ (+ g (/ x g)) 2))))
