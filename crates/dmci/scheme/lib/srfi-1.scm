;;; The rest of SRFI 1. Procedures that may reuse their arguments (append!, map!, ...) do not: each is
;;; the one without the mark.

(define (xcons a b) (cons b a))
(define (car+cdr pair) (values (car pair) (cdr pair)))
(define (alist-cons key value alist) (cons (cons key value) alist))

(define (circular-list first . rest)
  (let ((items (cons first rest)))
    (set-cdr! (last-pair items) items)
    items))

;;; Kinds of lists

(define (proper-list? x) (list? x))
(define (not-pair? x) (not (pair? x)))

(define (circular-list? x)
  (let next ((slow x) (fast x))
    (and (pair? fast)
         (pair? (cdr fast))
         (let ((slow (cdr slow)) (fast (cddr fast)))
           (or (eq? slow fast) (next slow fast))))))

(define (dotted-list? x) (not (or (list? x) (circular-list? x))))

(define (null-list? items)
  (cond ((pair? items) #f)
        ((null? items) #t)
        (else (%wrong-type 'null-list? "a list" items))))

;; Whether neighbours among the lists have equal items in the same order.
(define (list= same? . lists)
  (define (equal-lists? as bs)
    (cond ((null-list? as) (null-list? bs))
          ((null-list? bs) #f)
          (else (and (same? (car as) (car bs)) (equal-lists? (cdr as) (cdr bs))))))
  (%neighbours? equal-lists? lists))

(define (%neighbours? holds? lists)
  (or (null? lists)
      (let next ((first (car lists)) (rest (cdr lists)))
        (or (null? rest)
            (and (holds? first (car rest)) (next (car rest) (cdr rest)))))))

;;; Columns of lists

(define (unzip1 rows) (map first rows))
(define (unzip2 rows) (values (map first rows) (map second rows)))
(define (unzip3 rows) (values (map first rows) (map second rows) (map third rows)))
(define (unzip4 rows)
  (values (map first rows) (map second rows) (map third rows) (map fourth rows)))
(define (unzip5 rows)
  (values (map first rows) (map second rows) (map third rows) (map fourth rows) (map fifth rows)))

;;; Procedures of the tails of lists. The next tail is taken before the call, which may cut this one.

(define (pair-for-each f first . rest)
  (let next ((lists (cons first rest)))
    (if (every pair? lists)
        (let ((tails (map cdr lists)))
          (apply f lists)
          (next tails)))))

(define (pair-fold f start first . rest)
  (let next ((result start) (lists (cons first rest)))
    (if (every pair? lists)
        (let ((tails (map cdr lists)))
          (next (apply f (append lists (list result))) tails))
        result)))

(define (pair-fold-right f start first . rest)
  (let next ((lists (cons first rest)) (done '()))
    (if (every pair? lists)
        (next (map cdr lists) (cons lists done))
        (fold (lambda (lists result) (apply f (append lists (list result)))) start done))))

;;; Association lists

(define alist-delete
  (case-lambda
    ((key alist) (alist-delete key alist equal?))
    ((key alist same?) (remove (lambda (entry) (same? key (car entry))) alist))))

;;; Lists as sets

(define (%has? same? items x) (any (lambda (item) (same? x item)) items))

(define (lset<= same? . lists)
  (%neighbours? (lambda (as bs) (every (lambda (a) (%has? same? bs a)) as)) lists))

(define (lset= same? . lists)
  (%neighbours? (lambda (as bs)
                  (and (every (lambda (a) (%has? same? bs a)) as)
                       (every (lambda (b) (any (lambda (a) (same? a b)) as)) bs)))
                lists))

(define (lset-adjoin same? items . more)
  (fold (lambda (x items) (if (%has? same? items x) items (cons x items))) items more))

(define (lset-union same? . lists)
  (reduce (lambda (more items)
            (cond ((null? more) items)
                  ((null? items) more)
                  (else (apply lset-adjoin same? items more))))
          '()
          lists))

(define (lset-intersection same? items . others)
  (filter (lambda (x) (every (lambda (other) (%has? same? other x)) others)) items))

(define (lset-difference same? items . others)
  (remove (lambda (x) (any (lambda (other) (%has? same? other x)) others)) items))

;; Two values: what is in none of the others, and what is in one of them.
(define (lset-diff+intersection same? items . others)
  (partition (lambda (x) (not (any (lambda (other) (%has? same? other x)) others))) items))

;; What is in an odd number of the lists.
(define (lset-xor same? . lists)
  (reduce (lambda (bs as)
            (append (reverse (remove (lambda (b) (%has? same? as b)) bs))
                    (remove (lambda (a) (%has? same? bs a)) as)))
          '()
          lists))

;;; Names with a mark

(define take! take)
(define drop-right! drop-right)
(define split-at! split-at)
(define take-while! take-while)
(define span! span)
(define break! break)
(define concatenate! concatenate)
(define append-map! append-map)
(define map! map)
(define map-in-order map)
(define filter! filter)
(define partition! partition)
(define remove! remove)
(define delete-duplicates! delete-duplicates)
(define alist-delete! alist-delete)
(define lset-union! lset-union)
(define lset-intersection! lset-intersection)
(define lset-difference! lset-difference)
(define lset-diff+intersection! lset-diff+intersection)
(define lset-xor! lset-xor)
