;;; What the other units of the library are built on.

(define (%call-with-values producer consumer)
  (apply consumer (%values->list (producer))))
