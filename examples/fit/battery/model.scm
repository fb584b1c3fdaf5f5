;; The capacity of a battery fades slowly, and from a knee on fast. Both slopes and the knee are fitted;
;; softplus makes the corner round, so that the knee has a derivative everywhere.

(params (fresh unit 0.98 1.1)            ; capacity at the beginning, as a share of the rated one
        (fade positive 0.1 0.1)          ; loss per thousand cycles before the knee
        (knee positive 0.5)              ; in thousands of cycles
        (plunge positive 1.0)            ; further loss per thousand cycles behind it
        (roundness positive 0.05 0.05))

(let ((n (/ cycle 1000.0)))
  (- fresh
     (* fade n)
     (* plunge roundness (softplus (/ (- n knee) roundness)))))
