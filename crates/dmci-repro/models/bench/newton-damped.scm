;; A square root by damped Newton steps, to a tolerance: g <- g + eta (x / g - g) / 2 from g = a x
;; until |g g - x| < tol max(1, x). Inputs: x, tol, eta (0.001 to 1: up to about 10,000 steps).
(params (a positive 0.5))

(let improve ((g (* a x)))
  (if (< (abs (- (* g g) x)) (* tol (max 1 x)))
      g
      (improve (+ g (/ (* eta (- (/ x g) g)) 2)))))
