(params (A free 5.0) (Ea free 0.3))
(define (arrhenius A Ea T) (* A (exp (* (- 0.0 Ea) T))))
(arrhenius A Ea T)
