;; Hares and lynxes, year by year: each year is a call that takes steps of a twentieth of a year.
;; The program gives both numbers for a row, in thousands.

(params (hares0 positive 30.0 10)
        (lynxes0 positive 5.0)
        (birth positive 0.6)             ; of hares, per year
        (catch positive 0.03 0.1)        ; of hares by one thousand lynxes, per year
        (thrive positive 0.02 0.1)       ; of lynxes by one thousand hares, per year
        (death positive 0.8))            ; of lynxes, per year

(define h 0.05)

;; One step of Heun's method: the mean of the slopes at both ends.
(define (step hares lynxes receive)
  (define (slopes x y receive)
    (receive (* x (- birth (* catch y))) (* y (- (* thrive x) death))))
  (slopes hares lynxes
    (lambda (dx dy)
      (slopes (+ hares (* h dx)) (+ lynxes (* h dy))
        (lambda (dx2 dy2)
          (receive (+ hares (* 0.5 h (+ dx dx2))) (+ lynxes (* 0.5 h (+ dy dy2)))))))))

(define (years n hares lynxes)
  (if (= n 0)
      (list hares lynxes)
      (let steps ((k 20) (hares hares) (lynxes lynxes))
        (if (= k 0)
            (years (- n 1) hares lynxes)
            (step hares lynxes (lambda (x y) (steps (- k 1) x y)))))))

(years year hares0 lynxes0)
