(params (a free 1.0) (b free -0.3) (rho unit 0.85))
(let ((w (sigmoid (+ a (* b h)))))
  (+ (* w ar) (* (- 1.0 w) (+ then (* (- y now) (expt rho h))))))
