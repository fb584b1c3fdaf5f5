;; Cycles that are left once a cell has come to 0.95: a power of the cycles from 0.96 to 0.95, of the age, and of the
;; first capacity, all pooled over cells. Which of the exponents are used is a structure.
(params (left free 5.0) (speed free 0.5) (age free 0.0) (first free 0.0))
(+ n95 (exp (+ left (* speed (log step)) (* age (log n95)) (* first (- q0 1.07)))))
