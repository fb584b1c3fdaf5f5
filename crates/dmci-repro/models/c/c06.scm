;; C06, a damped pendulum: theta' = omega, omega' = -G sin(theta) - b omega; 20 Euler steps of
;; 0.05 from (theta0, 0); the angle at the end. Input: theta0.
(params (G free 5.0)
        (b free 0.3))

(define h 0.05)

(define (swing theta omega n)
  (if (= n 0)
      theta
      (swing (+ theta (* h omega))
             (- omega (* h (+ (* G (sin theta)) (* b omega))))
             (- n 1))))

(swing theta0 0.0 20)
