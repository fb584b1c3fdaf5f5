;; The temperature of a cup of tea after t minutes.
;; EVOLVE-BLOCK-START
(params (start free 80.0)
        (slope free -1.0))
(+ start (* slope t))
;; EVOLVE-BLOCK-END
