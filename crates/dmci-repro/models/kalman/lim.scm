;; A linear inverse model: a Kalman filter with dynamics F, H = I, noise Q = diag(q) and R = r I; the
;; negative log-likelihood of observations (twice, without constants), the sum of
;; log |det S| + e' S^-1 e, from x = 0, P = I.
;; Inputs: obs, a list of observations, each a list of D numbers; F, a list of D rows of D numbers;
;; q, a list of D numbers. To differentiate by all of them: --wrt F,q,r.
(params (r positive 0.1))

(define D (length (car obs)))
(define I (eye D))
(define Q (diag q))
(define R (scale r I))

(let filter ((obs obs) (x (zeros D)) (P I) (nll 0.0))
  (if (null? obs)
      nll
      (let* ((x (matvec F x))
             (P (+ (matmul (matmul F P) (transpose F)) Q))
             (e (- (vec (car obs)) x))
             (S (+ P R))
             (V (inv S))
             (K (matmul P V)))
        (filter (cdr obs)
                (+ x (matvec K e))
                (matmul (- I K) P)
                (+ nll (logdet S) (dot e (matvec V e)))))))
