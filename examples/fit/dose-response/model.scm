;; How many of n insects die of a dose: a logistic curve of the logarithm of the dose (Hill's equation),
;; above a share that dies anyway.

(params (ld50 positive 1.0)             ; the dose that kills half of them, in milligrams
        (steepness positive 1.0)
        (control unit 0.05))            ; the share that dies without any

(let ((effect (/ 1.0 (+ 1.0 (expt (/ ld50 dose) steepness)))))
  (+ control (* (- 1.0 control) effect)))
