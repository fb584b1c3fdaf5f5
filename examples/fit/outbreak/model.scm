;; An outbreak in a school of 763: susceptible, infected, recovered. The program gives its own objective,
;; the negative log-likelihood of the numbers in bed, day by day, and names what it predicts.

(params (contact positive 1.5)           ; infections by one infected person per day, at the beginning
        (recovery positive 0.4)          ; per day
        (first positive 2.0)             ; infected on day 0
        (dispersion positive 10.0 10))   ; of the counts: large if they vary as Poisson's law says

(define people 763.0)
(define steps 10)
(define h (/ 1.0 steps))

;; The logarithm of the probability of a count with this mean (negative binomial).
(define (log-probability count mean)
  (let ((k dispersion))
    (+ (lgamma (+ count k)) (- (lgamma k)) (- (lgamma (+ count 1.0)))
       (* k (log (/ k (+ k mean)))) (* count (log (/ mean (+ k mean)))))))

(let day ((d 0) (S (- people first)) (I first) (L 0.0) (predicted '()))
  (if (= d (vlen in-bed))
      (result (loss (- L)) (yhat (reverse predicted)) (reproduction (/ contact recovery)))
      (let step ((k 0) (S S) (I I))
        (if (= k steps)
            (day (+ d 1) S I (+ L (log-probability (ref in-bed d) I)) (cons I predicted))
            (let ((infected (/ (* contact S I) people)))
              (step (+ k 1) (- S (* h infected)) (+ I (* h (- infected (* recovery I))))))))))
