;; M14, an anomaly score: y = w1 f1 + w2 f2 + w3 f3. Inputs: f1, f2, f3.
(params (w1 free 0.5)
        (w2 free 0.3)
        (w3 free 0.2))

(apply + (map * (list w1 w2 w3) (list f1 f2 f3)))
