;;; Vectors and strings: what takes a procedure.

(define (%check-vector who object)
  (if (not (vector? object)) (%wrong-type who "a vector" object)))

(define (%shortest who vectors)
  (for-each (lambda (v) (%check-vector who v)) vectors)
  (apply min (map vector-length vectors)))

(define (%column vectors i)
  (map (lambda (v) (vector-ref v i)) vectors))

(define (vector-map f first . rest)
  (cond ((tensor? first)
         (vec (apply map f (map tensor->list (cons first rest)))))
        ((null? rest)
         (%check-vector 'vector-map first)
         (let ((n (vector-length first)))
           (let next ((i 0) (done '()))
             (if (< i n)
                 (next (+ i 1) (cons (f (vector-ref first i)) done))
                 (%reverse-list->vector done)))))
        (else
         (let* ((vectors (cons first rest))
                (n (%shortest 'vector-map vectors)))
           (let next ((i 0) (done '()))
             (if (< i n)
                 (next (+ i 1) (cons (apply f (%column vectors i)) done))
                 (%reverse-list->vector done)))))))

(define (vector-for-each f first . rest)
  (if (null? rest)
      (begin
        (%check-vector 'vector-for-each first)
        (let ((n (vector-length first)))
          (let next ((i 0))
            (if (< i n)
                (begin (f (vector-ref first i)) (next (+ i 1)))))))
      (let* ((vectors (cons first rest))
             (n (%shortest 'vector-for-each vectors)))
        (let next ((i 0))
          (if (< i n)
              (begin (apply f (%column vectors i)) (next (+ i 1))))))))

(define (vector-map! f v)
  (%check-vector 'vector-map! v)
  (let ((n (vector-length v)))
    (let next ((i 0))
      (if (< i n)
          (begin (vector-set! v i (f (vector-ref v i))) (next (+ i 1)))))))

(define (vector-fold f start first . rest)
  (let* ((vectors (cons first rest))
         (n (%shortest 'vector-fold vectors)))
    (let next ((i 0) (result start))
      (if (< i n)
          (next (+ i 1) (apply f result (%column vectors i)))
          result))))

(define (vector-fold-right f start first . rest)
  (let ((vectors (cons first rest)))
    (let next ((i (- (%shortest 'vector-fold-right vectors) 1)) (result start))
      (if (< i 0)
          result
          (next (- i 1) (apply f result (%column vectors i)))))))

(define (make-initialized-vector n f)
  (%check-count 'make-initialized-vector n)
  (let next ((i 0) (done '()))
    (if (< i n)
        (next (+ i 1) (cons (f i) done))
        (%reverse-list->vector done))))

(define (vector-tabulate f n) (make-initialized-vector n f))

(define (vector-index found? first . rest)
  (let* ((vectors (cons first rest))
         (n (%shortest 'vector-index vectors)))
    (let next ((i 0))
      (and (< i n)
           (if (apply found? (%column vectors i)) i (next (+ i 1)))))))

(define (vector-count holds? first . rest)
  (let* ((vectors (cons first rest))
         (n (%shortest 'vector-count vectors)))
    (let next ((i 0) (total 0))
      (if (< i n)
          (next (+ i 1) (if (apply holds? (%column vectors i)) (+ total 1) total))
          total))))

;; The index of an item for which (compare item key) is 0, in a vector sorted by it, or #f.
(define (vector-binary-search v key compare)
  (%check-vector 'vector-binary-search v)
  (let next ((low 0) (high (- (vector-length v) 1)))
    (and (<= low high)
         (let* ((middle (quotient (+ low high) 2))
                (order (compare (vector-ref v middle) key)))
           (cond ((= order 0) middle)
                 ((< order 0) (next (+ middle 1) high))
                 (else (next low (- middle 1))))))))

;;; Strings

(define (%string->list who object)
  (if (not (string? object)) (%wrong-type who "a string" object))
  (string->list object))

(define (string-map f first . rest)
  (%list->string
   'string-map
   (apply map f (map (lambda (s) (%string->list 'string-map s)) (cons first rest)))))

(define (string-for-each f first . rest)
  (apply for-each f (map (lambda (s) (%string->list 'string-for-each s)) (cons first rest))))

(define (string-count s wanted)
  (count (%char-test wanted) (%string->list 'string-count s)))

(define (%char-test wanted)
  (if (char? wanted) (lambda (c) (char=? c wanted)) wanted))

(define (string-index s wanted)
  (if (procedure? wanted)
      (list-index wanted (%string->list 'string-index s))
      (%string-index s wanted)))

(define (string-rindex s wanted)
  (if (procedure? wanted)
      (let ((i (list-index wanted (reverse (%string->list 'string-rindex s)))))
        (and i (- (string-length s) i 1)))
      (%string-rindex s wanted)))

;; Splits at a character, a string, or the characters that a predicate accepts; at white space, with
;; no empty parts, if nothing is given.
(define string-split
  (case-lambda
    ((s)
     (remove string-null? (string-split s char-whitespace?)))
    ((s separator)
     (if (procedure? separator)
         (let next ((chars (reverse (%string->list 'string-split s))) (part '()) (parts '()))
           (cond ((null? chars) (cons (list->string part) parts))
                 ((separator (car chars)) (next (cdr chars) '() (cons (list->string part) parts)))
                 (else (next (cdr chars) (cons (car chars) part) parts))))
         (%string-split s separator)))))

;;; Symbols made at run time are numbered by this counter, so that they print the same in every mode.

(define %symbols-made 9)

(define generate-uninterned-symbol
  (case-lambda
    (() (generate-uninterned-symbol "g"))
    ((prefix)
     (set! %symbols-made (+ %symbols-made 1))
     (string->uninterned-symbol
      (string-append (if (symbol? prefix) (symbol->string prefix) prefix)
                     (number->string %symbols-made))))))

(define gensym generate-uninterned-symbol)
