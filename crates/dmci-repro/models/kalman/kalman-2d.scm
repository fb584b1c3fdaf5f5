;; A Kalman filter of a random walk in the plane: the negative log-likelihood of observations (twice,
;; without constants), the sum of log det S + e' S^-1 e, with F = H = I, Q = q I, R = r I,
;; from x = 0, P = I.
;; Input: obs, a list of observations, each a list of two numbers.
(params (q positive 0.05)
        (r positive 0.1))

(define I (eye 2))
(define Q (scale q I))
(define R (scale r I))

(let filter ((obs obs) (x (zeros 2)) (P I) (nll 0.0))
  (if (null? obs)
      nll
      (let* ((P (+ P Q))
             (e (- (vec (car obs)) x))
             (S (+ P R))
             (V (inv S))
             (K (matmul P V)))
        (filter (cdr obs)
                (+ x (matvec K e))
                (matmul (- I K) P)
                (+ nll (logdet S) (dot e (matvec V e)))))))
