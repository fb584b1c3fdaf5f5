;; The model of bucket.scm with min and max in the place of every branch.
;; Inputs: days; wetness, by which the rain is scaled.
(params (c positive 60.0)   ; field capacity
        (w positive 15.0)   ; wilting point
        (k positive 0.15)   ; drainage
        (a positive 0.3))   ; runoff share

(define (wave period shift t) (sin (+ (/ (* 6.283185307179586 t) period) shift)))
(define (rain t) (* wetness (max 0.0 (+ (* 6 (wave 90 0 t)) (* 4 (wave 7 1 t))))))
(define (demand t) (+ 2 (* 1.5 (wave 365 0 t))))

(let day ((t 0) (s 30.0) (lost 0.0))
  (if (= t days)
      lost
      (let* ((s1 (+ s (rain t)))
             (excess (max 0.0 (- s1 c)))
             (runoff (* a excess))
             (drain (* k excess))
             (evaporation (* (demand t) (min 1.0 (/ s1 w)))))
        (day (+ t 1)
             (max 0.0 (- s1 runoff drain evaporation))
             (+ lost runoff drain)))))
