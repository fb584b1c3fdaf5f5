;; A bucket of soil with two thresholds, day by day; the value is all runoff and drainage.
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
             (runoff (if (> s1 c) (* a (- s1 c)) 0.0))
             (drain (if (> s1 c) (* k (- s1 c)) 0.0))
             (evaporation (if (> s1 w) (demand t) (/ (* (demand t) s1) w)))
             (left (- s1 runoff drain evaporation)))
        (day (+ t 1)
             (if (< left 0) 0.0 left)
             (+ lost runoff drain)))))
