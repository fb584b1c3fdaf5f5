;; A heater that is off until it is colder than a threshold, and then uses power by how cold it is. The
;; threshold stands in a test only, so the power has no derivative by it: a method without derivatives is
;; needed, and `auto` notices.

(params (standby positive 0.1 0.1)       ; in kilowatts
        (demand positive 0.1 0.1)        ; per degree
        (threshold free 10.0 5))         ; in degrees

(if (< temperature threshold)
    (+ standby 0.8 (* demand (- 20.0 temperature)))
    standby)
