;; Gross primary production of two plant functional types, the composite of experiment I.
;; Inputs: Q (light), T (temperature), psi (water potential).
(params (alpha1 free 0.06) (A1 free 18.0) (To1 free 24.0) (w1 free 8.0) (s1 free 2.5) (psi1 free -1.2)
        (alpha2 free 0.04) (A2 free 12.0) (To2 free 30.0) (w2 free 6.0) (s2 free 3.5) (psi2 free -0.8))

(define (gpp alpha A To w s psi50)
  (* (/ (* alpha Q A) (+ (* alpha Q) A))
     (exp (- (/ (square (- T To)) (* 2.0 (square w)))))
     (/ 1.0 (+ 1.0 (exp (- (* s (- psi psi50))))))))

(+ (* 0.6 (gpp alpha1 A1 To1 w1 s1 psi1))
   (* 0.4 (gpp alpha2 A2 To2 w2 s2 psi2)))
