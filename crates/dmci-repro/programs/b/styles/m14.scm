(params (w1 free 0.5) (w2 free 0.3) (w3 free 0.2))
(+ (* w1 f1) (+ (* w2 f2) (* w3 f3)))
