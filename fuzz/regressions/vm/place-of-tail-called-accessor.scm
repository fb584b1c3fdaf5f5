(define (f) (define-record-type r (mk v) r? (v r-v)) (r-v 65536))
(f)
