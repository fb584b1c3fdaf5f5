;;; Hash tables: SRFI 69, with the names of MIT Scheme, Guile, R6RS and SRFI 125. Iteration is in the
;;; order of insertion, over the entries that were there when it began.

(define %hash-table-rtd (%hash-table-type))
(define %missing (string->uninterned-symbol "missing"))

(define (%make-eqv-table . size) (%make-hash-table %hash-table-rtd 0))
(define (%make-equal-table . size) (%make-hash-table %hash-table-rtd 1))

(define (make-hash-table . options)
  (let ((same? (if (pair? options) (car options) equal?)))
    (cond ((memq same? (list equal? string=?)) (%make-equal-table))
          ((memq same? (list eq? eqv? char=? symbol=? boolean=?)) (%make-eqv-table))
          ((eq? same? =) (%make-hash-table %hash-table-rtd 2))
          ((procedure? same?)
           (%wrong-type 'make-hash-table "one of eq?, eqv?, equal?, string=? and = for comparing keys"
                        same?))
          (else (%make-equal-table)))))

(define make-equal-hash-table %make-equal-table)
(define make-string-hash-table %make-equal-table)
(define make-key-weak-eqv-hash-table %make-eqv-table)
(define make-key-weak-eq-hash-table %make-eqv-table)
(define make-strong-eqv-hash-table %make-eqv-table)
(define make-strong-eq-hash-table %make-eqv-table)
(define make-strong-equal-hash-table %make-equal-table)
(define make-eqv-hash-table %make-eqv-table)
(define make-eq-hash-table %make-eqv-table)
(define make-eqv-hashtable %make-eqv-table)
(define make-eq-hashtable %make-eqv-table)

(define (make-hashtable hash same? . size) (make-hash-table same?))

(define (hash-table-ref/default table key default)
  (%hash-table-ref table key default 'hash-table-ref/default))

(define hash-table-ref
  (case-lambda
    ((table key)
     (hash-table-ref table key (lambda () (%key-not-found 'hash-table-ref key))))
    ((table key fail)
     (let ((value (%hash-table-ref table key %missing 'hash-table-ref)))
       (cond ((not (eq? value %missing)) value)
             (fail (fail))
             (else (%key-not-found 'hash-table-ref key)))))
    ((table key fail succeed)
     (let ((value (%hash-table-ref table key %missing 'hash-table-ref)))
       (cond ((not (eq? value %missing)) (succeed value))
             (fail (fail))
             (else (%key-not-found 'hash-table-ref key)))))))

(define hash-table-get
  (case-lambda
    ((table key) (%hash-table-ref table key #f 'hash-table-get))
    ((table key default) (%hash-table-ref table key default 'hash-table-get))))

(define hash-ref hash-table-get)
(define hashq-ref hash-table-get)
(define hashv-ref hash-table-get)
(define hash-table/get hash-table-ref/default)
(define hashtable-ref hash-table-ref/default)

(define hash-table/put! hash-table-set!)
(define hash-table-put! hash-table-set!)
(define hashtable-set! hash-table-set!)
(define hash-set! hash-table-set!)
(define hashq-set! hash-table-set!)
(define hashv-set! hash-table-set!)

(define hash-table/remove! hash-table-delete!)
(define hash-table-remove! hash-table-delete!)
(define hashtable-delete! hash-table-delete!)
(define hash-remove! hash-table-delete!)
(define hashq-remove! hash-table-delete!)

(define hash-table-exists? hash-table-contains?)
(define hashtable-contains? hash-table-contains?)
(define hashtable? hash-table?)
(define hashtable-size hash-table-size)
(define hash-table/count hash-table-size)
(define hash-table/clear! hash-table-clear!)
(define hash-clear! hash-table-clear!)
(define hashtable-clear! hash-table-clear!)

(define (hash-table-empty? table) (= (hash-table-size table) 0))

(define hash-table-update!
  (case-lambda
    ((table key f)
     (hash-table-update! table key f (lambda () (%key-not-found 'hash-table-update! key))))
    ((table key f fail)
     (let ((value (%hash-table-ref table key %missing 'hash-table-update!)))
       (hash-table-set! table key (f (if (eq? value %missing) (fail) value)))))
    ((table key f fail succeed)
     (hash-table-update! table key (lambda (value) (f (succeed value))) fail))))

(define (hash-table-update!/default table key f default)
  (hash-table-set! table key (f (%hash-table-ref table key default 'hash-table-update!/default))))

(define hashtable-update! hash-table-update!/default)

(define (hash-table-intern! table key make)
  (let ((value (%hash-table-ref table key %missing 'hash-table-intern!)))
    (if (eq? value %missing)
        (let ((made (make)))
          (hash-table-set! table key made)
          made)
        value)))

(define hash-table-ref! hash-table-intern!)

(define (hash-table-equivalence-function table)
  (vector-ref (vector eqv? equal? =) (%hash-table-equivalence table)))

(define (hash-table-hash-function table)
  (vector-ref (vector hash-by-identity hash hash) (%hash-table-equivalence table)))

;; What both have is taken from the second one.
(define (hash-table-merge! table other)
  (for-each (lambda (entry) (hash-table-set! table (car entry) (cdr entry))) (hash-table->alist other))
  table)

;;; Iteration. Some libraries take the table first, some last: both work.

(define (hash-table-walk table f)
  (if (procedure? table)
      (hash-table-walk f table)
      (for-each (lambda (entry) (f (car entry) (cdr entry))) (hash-table->alist table))))

(define hash-table-for-each hash-table-walk)
(define hash-for-each hash-table-walk)

(define (hash-table-fold a b c)
  (if (hash-table? a)
      (fold (lambda (entry result) (b (car entry) (cdr entry) result)) c (hash-table->alist a))
      (fold (lambda (entry result) (a (car entry) (cdr entry) result)) b (hash-table->alist c))))

(define hash-fold hash-table-fold)

(define (hash-map->list f table)
  (map (lambda (entry) (f (car entry) (cdr entry))) (hash-table->alist table)))

(define hash-table-count
  (case-lambda
    ((table) (hash-table-size table))
    ((a b)
     (if (and (procedure? b) (not (procedure? a)))
         (hash-table-count b a)
         (count (lambda (entry) (a (car entry) (cdr entry))) (hash-table->alist b))))))

(define hash-count hash-table-count)
(define hash-table/key-list hash-table-keys)
(define hash-table-datum-list hash-table-values)
(define hash-table/datum-list hash-table-values)

(define (hashtable-keys table) (list->vector (hash-table-keys table)))
(define (hashtable-entries table)
  (values (hashtable-keys table) (list->vector (hash-table-values table))))

(define (hash-table-copy table . mutable?) (%hash-table-copy table))
(define hashtable-copy hash-table-copy)

(define (alist->hash-table alist . options)
  (let ((table (apply make-hash-table options)))
    (for-each (lambda (entry)
                (if (not (pair? entry))
                    (%wrong-type 'alist->hash-table "a list of pairs" alist))
                (if (not (hash-table-contains? table (car entry)))
                    (hash-table-set! table (car entry) (cdr entry))))
              alist)
    table))
