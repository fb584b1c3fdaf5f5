;; A reservoir that drains by a law that nobody knows: a small neural network takes its place, as a closure
;; inside of the recursion. All of it is fitted end to end from the level alone.

(params (inflow positive 0.5 fixed)      ; known, in metres per hour
        (w1 (vector 3) (0.5 1.0 -0.5))
        (b1 (vector 3) (0.1 -0.1 0.2))
        (w2 (vector 3) (0.2 0.3 0.1)))

;; One hidden layer of three.
(define (network w1 b1 w2)
  (lambda (x) (dot w2 (tanh (+ b1 (* x w1))))))

(define drain (network w1 b1 w2))

;; Each hour is a call.
(define (level hours x)
  (if (= hours 0)
      x
      (level (- hours 1) (+ x (* 0.25 (- inflow (drain x)))))))

(level hour start)
