;; A level that wanders, measured with noise: the likelihood of a Kalman filter, by recursion along the
;; series. It predicts each measurement from those before it.

(params (wander positive 0.3)            ; variance of a step of the level
        (noise positive 1.0))            ; variance of a measurement

(let filter ((k 0) (level 0.0) (P 100.0) (L 0.0) (predicted '()))
  (if (= k (vlen y))
      (result (loss L) (yhat (reverse predicted)))
      (let* ((A (+ P wander))
             (S (+ A noise))
             (surprise (- (ref y k) level))
             (gain (/ A S)))
        (filter (+ k 1)
                (+ level (* gain surprise))
                (* (- 1.0 gain) A)
                (+ L (* 0.5 (+ (log (* 6.283185307179586 S)) (/ (* surprise surprise) S))))
                (cons level predicted)))))
