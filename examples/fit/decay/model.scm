;; A radioactive sample: what is counted in a second is what decays, and a background.
;; Counts vary as Poisson's law says, so that is the loss.

(params (activity positive 100.0 100)   ; decays per second at the beginning
        (half-life positive 10.0 10)    ; in seconds
        (background positive 5.0))      ; counts per second without the sample

(+ background (* activity (expt 0.5 (/ t half-life))))
