(params (phi unit 0.6))
(+ y (* (- y y1) (/ (* phi (- 1.0 (expt phi h))) (- 1.0 phi))))
