;; A dose of a drug is swallowed, absorbed and cleared: its concentration in the blood of six patients.
;; How fast it is absorbed is the same for all; volume and clearance differ by patient.

(params (absorption positive 1.5)                    ; per hour
        (volume positive 30.0 30 (per patient))      ; in litres
        (clearance positive 3.0 (per patient)))      ; in litres per hour

(let* ((elimination (/ clearance volume))
       (scale (/ (* dose absorption) (* volume (- absorption elimination)))))
  (* scale (- (exp (- (* elimination time))) (exp (- (* absorption time))))))
