;; SIR, the nation alone, as in the paper.
(params (b0 positive 1.5) (amp signed-unit 0.2) (phase free 0.0) (gamma unit 0.5) (rho unit 0.05 0.2)
        (i0 unit 0.0015 0.01) (s2 positive 4e-6))
(loop ((k 0) (S (+ 0.0 (- 1.0 i0))) (I (+ 0.0 i0)) (R 0.0) (yhat 0.0) (L 0.0))
  (if (= k NWEEKS)
      L
      (let* ((beta (* b0 (+ 1.0 (* amp (cos (+ (* 0.12083048667087144 k) phase))))))
             (force (* beta S I))
             (heal (* gamma I))
             (ypred (* rho I))
             (e (- (ref (ref obs k) 0) ypred))
             (v (+ s2 1e-6))
             (nll (+ (/ (* e e) (* 2.0 v)) (* 0.5 (log v)))))
        (recur (+ k 1)
               (- S force)
               (- (+ I force) heal)
               (+ R heal)
               ypred
               (+ L nll)))))
