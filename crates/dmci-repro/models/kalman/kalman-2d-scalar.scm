;; A Kalman filter of a random walk in the plane, written out in scalars: the negative log-likelihood
;; of observations (twice, without constants), the sum of log det S + e' S^-1 e,
;; with F = H = I, Q = q I, R = r I, from x = 0, P = I.
;; Input: obs, a list of observations, each a list of two numbers.
(params (q positive 0.05)
        (r positive 0.1))

;; x1 x2 is the mean; P11 P12 P22 its covariance.
(let filter ((obs obs) (x1 0.0) (x2 0.0) (P11 1.0) (P12 0.0) (P22 1.0) (nll 0.0))
  (if (null? obs)
      nll
      (let* ((e1 (- (first (car obs)) x1))
             (e2 (- (second (car obs)) x2))
             ;; predicted covariance, and that of the observation
             (A11 (+ P11 q))
             (A22 (+ P22 q))
             (S11 (+ A11 r))
             (S22 (+ A22 r))
             (det (- (* S11 S22) (* P12 P12)))
             ;; the inverse of S
             (V11 (/ S22 det))
             (V12 (- (/ P12 det)))
             (V22 (/ S11 det))
             ;; the gain
             (K11 (+ (* A11 V11) (* P12 V12)))
             (K12 (+ (* A11 V12) (* P12 V22)))
             (K21 (+ (* P12 V11) (* A22 V12)))
             (K22 (+ (* P12 V12) (* A22 V22))))
        (filter (cdr obs)
                (+ x1 (* K11 e1) (* K12 e2))
                (+ x2 (* K21 e1) (* K22 e2))
                (- A11 (+ (* K11 A11) (* K12 P12)))
                (- P12 (+ (* K11 P12) (* K12 A22)))
                (- A22 (+ (* K21 P12) (* K22 A22)))
                (+ nll (log det) (* V11 e1 e1) (* 2 V12 e1 e2) (* V22 e2 e2))))))
