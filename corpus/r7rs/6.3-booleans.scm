;; R7RS section 6.3: booleans.

(test "not of false" #t (not #f))
(test "not of other objects" (#f #f #f #f #f) (map not (list #t 3 '() (list 3) 'nil)))
(test "not twice" (#t #f) (list (not (not 1)) (not (not #f))))
(test "boolean predicate" (#t #t #f #f #f) (map boolean? (list #t #f 0 '() 'true)))
(test "boolean=? of equal" (#t #t) (list (boolean=? #t #t) (boolean=? #f #f)))
(test "boolean=? of different" #f (boolean=? #t #f))
(test "boolean=? of three" (#t #f) (list (boolean=? #f #f #f) (boolean=? #f #f #t)))
(test "booleans evaluate to themselves" (#t #f) (list #t #f))
(test "long names are the same objects" (#t #t) (list (eq? #t #true) (eq? #f #false)))
(test "predicates return booleans" (#t #t) (list (eq? #t (pair? '(1))) (eq? #f (pair? 1))))
(test "comparison returns a boolean" (#t #f) (list (< 1 2) (< 2 1)))
(test "the empty list counts as true" 1 (if '() 1 2))
