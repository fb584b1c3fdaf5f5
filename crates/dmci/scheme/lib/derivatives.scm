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

;; A procedure that computes (f x ...) and has the derivative that df gives: for one number, the
;; derivative at x; in general the derivatives by all numbers of the arguments, in their order. Its
;; own derivatives are those of df. The value is always a real.
(define (with-derivative f df)
  (lambda arguments
    (let* ((value (stop-gradient (apply f arguments)))
           (numbers (%elements arguments))
           (parts (%partials 'with-derivative (apply df arguments) (length numbers))))
      (let attach ((value value) (numbers numbers) (parts parts))
        (if (null? numbers)
            value
            (attach (%linear value (car parts) (car numbers)) (cdr numbers) (cdr parts)))))))

;; The derivatives as a list of numbers, one for each number of the arguments.
(define (%partials who derivative count)
  (let ((parts (%elements derivative)))
    (if (not (= (length parts) count))
        (%wrong-type who
                     (string-append "a derivative of " (number->string count)
                                    (if (= count 1) " number" " numbers") ", as many as the arguments have")
                     derivative))
    parts))

;; (check-derivative f df x ...): how far df is from the derivative of f, relative to the largest
;; number of either; 0 if they agree.
(define (check-derivative f df . arguments)
  (let* ((own (%elements (apply (grad f) arguments)))
         (given (%partials 'check-derivative (apply df arguments) (length own)))
         (size (lambda (list) (apply max 0.0 (map abs list))))
         (difference (size (map (lambda (a b) (if (= a b) 0.0 (- a b))) own given)))
         (scale (max (size own) (size given))))
    (cond ((= difference 0.0) 0.0)
          ((and (< difference +inf.0) (< scale +inf.0)) (/ difference scale))
          (else +inf.0))))

;; Numbers and tensors are the leaves of a structure.
(define (%leaf? x)
  (or (number? x) (tensor? x)))

;; The numbers of a structure, in order, those of tensors one by one.
(define (%elements x)
  (append-map (lambda (leaf) (if (tensor? leaf) (%numbers (tensor->list leaf)) (list leaf)))
              (%numbers x)))

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
