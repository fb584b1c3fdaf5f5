;;; What the other units of the library are built on.

;; Forms such as let-values: the consumer takes `count` values, or at least as many.
(define (%receive producer count more? consumer)
  (apply consumer (%check-values (%values->list (producer)) count more?)))
