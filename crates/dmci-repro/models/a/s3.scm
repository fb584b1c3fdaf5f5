;; S3, a branch: y = beta x below alpha, gamma x from there on. Input: x.
;; alpha occurs in the test alone, so its derivative is 0 everywhere.
(params (alpha free 1.0)
        (beta free 2.0)
        (gamma free 0.5))

(if (< x alpha)
    (* beta x)
    (* gamma x))
