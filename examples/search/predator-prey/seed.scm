;; Hares and lynxes, year by year. How many hares one thousand lynxes eat is not known: a hole, which begins with a line.

(params (hares0 positive 34.0 10)
        (lynxes0 positive 6.0)
        (birth positive 0.8)             ; of hares, per year
        (room positive 90.0 50)          ; hares that the land can feed
        (thrive positive 0.5)            ; lynxes for each hare that is eaten
        (death positive 0.4))            ; of lynxes, per year

(define h 0.1)

(define (eaten x) (hole response (x) (* 0.03 x)))

;; One step of Heun's method: the mean of the slopes at both ends.
(define (step hares lynxes receive)
  (define (slopes x y receive)
    (receive (- (* birth x (- 1 (/ x room))) (* (eaten x) y))
             (* y (- (* thrive (eaten x)) death))))
  (slopes hares lynxes
    (lambda (dx dy)
      (slopes (+ hares (* h dx)) (+ lynxes (* h dy))
        (lambda (dx2 dy2)
          (receive (+ hares (* 0.5 h (+ dx dx2))) (+ lynxes (* 0.5 h (+ dy dy2)))))))))

(define (years n hares lynxes)
  (if (= n 0)
      (list hares lynxes)
      (let steps ((k 10) (hares hares) (lynxes lynxes))
        (if (= k 0)
            (years (- n 1) hares lynxes)
            (step hares lynxes (lambda (x y) (steps (- k 1) x y)))))))

(years year hares0 lynxes0)
