;; M04, Arrhenius: k = A exp(-Ea T). Input: T.
(params (A free 5.0)
        (Ea free 0.3))

(* A (exp (- (* Ea T))))
