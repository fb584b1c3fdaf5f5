;; M03, Michaelis and Menten: V = Vmax S / (Km + S). Input: S.
(params (Vmax free 10.0)
        (Km free 2.5))

(/ (* Vmax S) (+ Km S))
