;;; Lists: what takes a procedure. Everything runs from left to right, in constant stack, and builds
;;; its result without changing it later, so that a continuation captured on the way can be used again.
;;;
;;; (%heads who lists) is the list of their cars, or #f if one of the lists has ended.

(define (%check-end who rest list)
  (if (not (null? rest)) (%wrong-type who "a proper list" list)))

(define (%check-count who n)
  (if (not (exact-nonnegative-integer? n))
      (%wrong-type who "an exact non-negative integer" n)))

(define (map f first . rest)
  (cond ((null? rest)
         (let next ((items first) (done '()))
           (cond ((pair? items) (next (cdr items) (cons (f (car items)) done)))
                 (else (%check-end 'map items first) (reverse done)))))
        ((null? (cdr rest))
         (let next ((as first) (bs (car rest)) (done '()))
           (cond ((and (pair? as) (pair? bs))
                  (next (cdr as) (cdr bs) (cons (f (car as) (car bs)) done)))
                 (else (%heads 'map (list as bs)) (reverse done)))))
        (else
         (let next ((lists (cons first rest)) (done '()))
           (let ((heads (%heads 'map lists)))
             (if heads
                 (next (%tails lists) (cons (apply f heads) done))
                 (reverse done)))))))

(define (for-each f first . rest)
  (if (null? rest)
      (let next ((items first))
        (cond ((pair? items) (f (car items)) (next (cdr items)))
              (else (%check-end 'for-each items first))))
      (let next ((lists (cons first rest)))
        (let ((heads (%heads 'for-each lists)))
          (if heads
              (begin (apply f heads) (next (%tails lists))))))))

(define (append-map f first . rest)
  (concatenate (apply map f first rest)))

(define (filter-map f first . rest)
  (let next ((items (apply map f first rest)) (done '()))
    (cond ((null? items) (reverse done))
          ((car items) (next (cdr items) (cons (car items) done)))
          (else (next (cdr items) done)))))

;;; Folds

(define (fold-left f start first . rest)
  (if (null? rest)
      (let next ((result start) (items first))
        (cond ((pair? items) (next (f result (car items)) (cdr items)))
              (else (%check-end 'fold-left items first) result)))
      (let next ((result start) (lists (cons first rest)))
        (let ((heads (%heads 'fold-left lists)))
          (if heads
              (next (apply f result heads) (%tails lists))
              result)))))

(define (fold f start first . rest)
  (if (null? rest)
      (let next ((result start) (items first))
        (cond ((pair? items) (next (f (car items) result) (cdr items)))
              (else (%check-end 'fold items first) result)))
      (let next ((result start) (lists (cons first rest)))
        (let ((heads (%heads 'fold lists)))
          (if heads
              (next (apply f (append heads (list result))) (%tails lists))
              result)))))

(define (fold-right f start first . rest)
  (if (null? rest)
      (let next ((result start) (items (%reverse 'fold-right first)))
        (if (null? items)
            result
            (next (f (car items) result) (cdr items))))
      (let next ((result start) (rows (reverse (apply map list first rest))))
        (if (null? rows)
            result
            (next (apply f (append (car rows) (list result))) (cdr rows))))))

(define (reduce f default items)
  (cond ((pair? items) (fold f (car items) (cdr items)))
        (else (%check-end 'reduce items items) default)))

(define (reduce-left f default items)
  (cond ((pair? items) (fold-left f (car items) (cdr items)))
        (else (%check-end 'reduce-left items items) default)))

(define (reduce-right f default items)
  (let ((items (%reverse 'reduce-right items)))
    (if (null? items)
        default
        (fold f (car items) (cdr items)))))

;;; Selection

(define (filter keep? items)
  (let next ((rest items) (done '()))
    (cond ((pair? rest)
           (next (cdr rest) (if (keep? (car rest)) (cons (car rest) done) done)))
          (else (%check-end 'filter rest items) (reverse done)))))

(define (remove drop? items)
  (let next ((rest items) (done '()))
    (cond ((pair? rest)
           (next (cdr rest) (if (drop? (car rest)) done (cons (car rest) done))))
          (else (%check-end 'remove rest items) (reverse done)))))

(define (partition in? items)
  (let next ((rest items) (in '()) (out '()))
    (cond ((not (pair? rest))
           (%check-end 'partition rest items)
           (values (reverse in) (reverse out)))
          ((in? (car rest)) (next (cdr rest) (cons (car rest) in) out))
          (else (next (cdr rest) in (cons (car rest) out))))))

(define delete
  (case-lambda
    ((item items) (%delete item items))
    ((item items same?) (remove (lambda (other) (same? item other)) items))))

(define delete! delete)

;; The first of each kind stays.
(define delete-duplicates
  (case-lambda
    ((items)
     (let ((seen (make-equal-hash-table)))
       (filter (lambda (item)
                 (and (not (hash-table-contains? seen item))
                      (begin (hash-table-set! seen item #t) #t)))
               items)))
    ((items same?)
     (let next ((rest items) (done '()))
       (cond ((not (pair? rest)) (%check-end 'delete-duplicates rest items) (reverse done))
             ((any (lambda (earlier) (same? earlier (car rest))) done) (next (cdr rest) done))
             (else (next (cdr rest) (cons (car rest) done))))))))

(define (take-while keep? items)
  (let next ((rest items) (done '()))
    (if (and (pair? rest) (keep? (car rest)))
        (next (cdr rest) (cons (car rest) done))
        (reverse done))))

(define (drop-while drop? items)
  (let next ((rest items))
    (if (and (pair? rest) (drop? (car rest)))
        (next (cdr rest))
        rest)))

(define (span in? items)
  (let next ((rest items) (done '()))
    (if (and (pair? rest) (in? (car rest)))
        (next (cdr rest) (cons (car rest) done))
        (values (reverse done) rest))))

(define (break out? items)
  (span (lambda (item) (not (out? item))) items))

(define (split-at items n)
  (values (take items n) (drop items n)))

;; Two pairs that are n apart go along the list, which may end in anything.
(define (take-right items n)
  (let next ((ahead (%drop 'take-right items n)) (rest items))
    (if (pair? ahead) (next (cdr ahead) (cdr rest)) rest)))

(define (drop-right items n)
  (let next ((ahead (%drop 'drop-right items n)) (rest items) (done '()))
    (if (pair? ahead)
        (next (cdr ahead) (cdr rest) (cons (car rest) done))
        (reverse done))))

;;; Searching

(define member
  (case-lambda
    ((item items) (%member item items))
    ((item items same?)
     (let next ((rest items))
       (cond ((not (pair? rest)) (%check-end 'member rest items) #f)
             ((same? item (car rest)) rest)
             (else (next (cdr rest))))))))

(define assoc
  (case-lambda
    ((key alist) (%assoc key alist))
    ((key alist same?)
     (let next ((rest alist))
       (cond ((not (pair? rest)) (%check-end 'assoc rest alist) #f)
             ((not (pair? (car rest))) (%wrong-type 'assoc "a list of pairs" alist))
             ((same? key (caar rest)) (car rest))
             (else (next (cdr rest))))))))

(define (find-tail found? items)
  (let next ((rest items))
    (cond ((not (pair? rest)) (%check-end 'find-tail rest items) #f)
          ((found? (car rest)) rest)
          (else (next (cdr rest))))))

(define (find found? items)
  (let next ((rest items))
    (cond ((not (pair? rest)) (%check-end 'find rest items) #f)
          ((found? (car rest)) (car rest))
          (else (next (cdr rest))))))

(define (any holds? first . rest)
  (if (null? rest)
      (let next ((items first))
        (cond ((pair? items) (or (holds? (car items)) (next (cdr items))))
              (else (%check-end 'any items first) #f)))
      (let next ((lists (cons first rest)))
        (let ((heads (%heads 'any lists)))
          (and heads (or (apply holds? heads) (next (%tails lists))))))))

(define (every holds? first . rest)
  (if (null? rest)
      (let next ((items first) (last #t))
        (cond ((pair? items)
               (let ((value (holds? (car items))))
                 (and value (next (cdr items) value))))
              (else (%check-end 'every items first) last)))
      (let next ((lists (cons first rest)) (last #t))
        (let ((heads (%heads 'every lists)))
          (if heads
              (let ((value (apply holds? heads)))
                (and value (next (%tails lists) value)))
              last)))))

(define (count holds? first . rest)
  (let next ((lists (cons first rest)) (n 0))
    (let ((heads (%heads 'count lists)))
      (if heads
          (next (%tails lists) (if (apply holds? heads) (+ n 1) n))
          n))))

(define (list-index found? first . rest)
  (let next ((lists (cons first rest)) (i 0))
    (let ((heads (%heads 'list-index lists)))
      (and heads
           (if (apply found? heads)
               i
               (next (%tails lists) (+ i 1)))))))

;;; Making lists

(define iota
  (case-lambda
    ((n) (iota n 0 1))
    ((n start) (iota n start 1))
    ((n start step)
     (%check-count 'iota n)
     (let next ((i (- n 1)) (done '()))
       (cond ((> i 0) (next (- i 1) (cons (+ start (* i step)) done)))
             ((= i 0) (cons start done))
             (else done))))))

(define (list-tabulate n f)
  (%check-count 'list-tabulate n)
  (let next ((i 0) (done '()))
    (if (< i n)
        (next (+ i 1) (cons (f i) done))
        (reverse done))))

(define make-initialized-list list-tabulate)

(define unfold
  (case-lambda
    ((stop? f successor seed) (unfold stop? f successor seed (lambda (seed) '())))
    ((stop? f successor seed tail)
     (let next ((seed seed) (done '()))
       (if (stop? seed)
           (append-reverse done (tail seed))
           (next (successor seed) (cons (f seed) done)))))))

(define unfold-right
  (case-lambda
    ((stop? f successor seed) (unfold-right stop? f successor seed '()))
    ((stop? f successor seed tail)
     (let next ((seed seed) (done tail))
       (if (stop? seed)
           done
           (next (successor seed) (cons (f seed) done)))))))

(define (zip first . rest) (apply map list first rest))
