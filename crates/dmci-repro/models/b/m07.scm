;; M07, a power law: y = a x^b. Input: x.
(params (a free 3.0)
        (b free 0.75))

(* a (expt x b))
