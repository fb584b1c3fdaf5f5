;; A ball is dropped and bounces: how high is it after t seconds?
;; Each bounce is a call, so the recursion is as deep as there have been bounces.

(params (drop positive 1.5)       ; the height it falls from, in metres
        (gravity positive 8.0)    ; in metres per second squared
        (keep unit 0.7))          ; the share of its speed that is left after a bounce

(define (height start speed t)
  (+ start (* speed t) (* -0.5 gravity t t)))

;; It left the ground with this speed, t seconds ago.
(define (bounce speed t)
  (let ((lands (/ (* 2 speed) gravity)))
    (cond ((< speed 0.05) 0.0)    ; it lies still
          ((< t lands) (height 0 speed t))
          (else (bounce (* keep speed) (- t lands))))))

(let ((lands (sqrt (/ (* 2 drop) gravity))))
  (if (< t lands)
      (height drop 0 t)
      (bounce (* keep gravity lands) (- t lands))))
