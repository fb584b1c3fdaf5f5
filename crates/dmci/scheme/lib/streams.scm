;;; Streams made by cons-stream: pairs whose cdr is a promise.

(define the-empty-stream '())
(define stream-nil '())
(define (empty-stream? object) (null? object))
(define stream-null? empty-stream?)

(define (stream-pair? object)
  (and (pair? object) (promise? (cdr object))))

(define (%check-stream who object)
  (if (not (stream-pair? object)) (%wrong-type who "a non-empty stream" object)))

(define (stream-car stream)
  (%check-stream 'stream-car stream)
  (car stream))

(define (stream-cdr stream)
  (%check-stream 'stream-cdr stream)
  (force (cdr stream)))

(define stream-first stream-car)
(define stream-rest stream-cdr)

(define (stream-tail stream n)
  (%check-count 'stream-tail n)
  (let next ((stream stream) (n n))
    (cond ((= n 0) stream)
          (else (%check-stream 'stream-tail stream)
                (next (force (cdr stream)) (- n 1))))))

(define (stream-ref stream n)
  (let ((tail (stream-tail stream n)))
    (%check-stream 'stream-ref tail)
    (car tail)))

;; The first n items, as a list.
(define (stream-head stream n)
  (%check-count 'stream-head n)
  (let next ((stream stream) (n n) (done '()))
    (cond ((= n 0) (reverse done))
          (else (%check-stream 'stream-head stream)
                (next (force (cdr stream)) (- n 1) (cons (car stream) done))))))

(define stream->list
  (case-lambda
    ((stream) (stream->list stream -1))
    ((stream most)
     (let next ((stream stream) (left most) (done '()))
       (if (or (= left 0) (null? stream))
           (reverse done)
           (begin
             (%check-stream 'stream->list stream)
             (next (force (cdr stream)) (- left 1) (cons (car stream) done))))))))

(define (list->stream items)
  (fold-right (lambda (item rest) (cons item (make-promise rest))) '() items))

(define (stream . items) (list->stream items))

(define (stream-map f first . rest)
  (let next ((streams (cons first rest)))
    (if (any null? streams)
        '()
        (cons-stream (apply f (map stream-car streams))
                     (next (map stream-cdr streams))))))

(define (stream-for-each f stream)
  (let next ((stream stream))
    (if (not (null? stream))
        (begin
          (f (stream-car stream))
          (next (stream-cdr stream))))))

(define (stream-filter keep? stream)
  (cond ((null? stream) '())
        ((keep? (stream-car stream))
         (cons-stream (car stream) (stream-filter keep? (stream-cdr stream))))
        (else (stream-filter keep? (stream-cdr stream)))))

(define (stream-append . streams)
  (let next ((streams streams))
    (cond ((null? streams) '())
          ((null? (car streams)) (next (cdr streams)))
          (else (cons-stream (stream-car (car streams))
                             (next (cons (stream-cdr (car streams)) (cdr streams))))))))
