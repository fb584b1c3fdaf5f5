;; M06, logistic growth from P(0) = 1: P = K / (1 + (K - 1) exp(-r t)). Input: t.
(params (K free 10.0)
        (r free 0.5))

(let* ((decay (exp (- (* r t))))
       (denominator (+ 1 (* (- K 1) decay))))
  (/ K denominator))
