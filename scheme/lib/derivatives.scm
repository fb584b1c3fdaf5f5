;;; Derivatives of procedures. An argument may be a number, a tensor, or a list or vector of
;;; arguments, to any depth; a derivative has the shape of what it is taken by.

;; ((derivative f) x): the derivative of f at the number x.
(define (derivative f . x)
  (define (at x)
    (let* ((mark (%derive-begin))
           (leaf (%leaf x)))
      (car (%derive-end mark (%adjoints (f leaf) (list leaf))))))
  (if (null? x) at (at (car x))))

;; ((grad f) x ...): the gradient of the number (f x ...), in the shape of x; by several arguments,
;; the list of their gradients.
(define (grad f)
  (lambda arguments
    (let* ((mark (%derive-begin))
           (leaves (%map-numbers %leaf arguments))
           (value (apply f leaves))
           (parts (%derive-end mark (%adjoints value (%numbers leaves))))
           (gradient (%fill arguments parts)))
      (if (null? (cdr arguments)) (car gradient) gradient))))

;; (jvp f x v): the derivative of (f x) along the direction v, which has the shape of x.
(define (jvp f x v)
  (let* ((mark (%derive-begin))
         (leaves (%map-numbers %leaf x))
         (value (f leaves))
         (parts (%tangents (%numbers value) (%numbers leaves) (%numbers v))))
    (%fill value (%derive-end mark parts))))

;; Numbers and tensors are the leaves of a structure.
(define (%leaf? x)
  (or (number? x) (tensor? x)))

(define (%map-numbers f x)
  (cond ((%leaf? x) (f x))
        ((pair? x) (let ((first (%map-numbers f (car x)))) (cons first (%map-numbers f (cdr x)))))
        ((vector? x) (vector-map (lambda (item) (%map-numbers f item)) x))
        (else x)))

;; The numbers of a structure, in order.
(define (%numbers x)
  (let collect ((x x) (rest '()))
    (cond ((%leaf? x) (cons x rest))
          ((pair? x) (collect (car x) (collect (cdr x) rest)))
          ((vector? x) (collect (vector->list x) rest))
          (else rest))))

;; The structure with its numbers replaced, in order.
(define (%fill x numbers)
  (%map-numbers (lambda (old)
                  (let ((new (car numbers)))
                    (set! numbers (cdr numbers))
                    new))
                x))
