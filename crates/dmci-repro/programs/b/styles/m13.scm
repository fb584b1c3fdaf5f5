(params (a free 2.5) (b free 1.0))
(define transforms (list (lambda (v) (* a v)) (lambda (v) (+ v b))))
(fold (lambda (f v) (f v)) x transforms)
