;; Names beyond R7RS-small that many programs use: 1+, assert, sort, streams, string search.

(test "1+ and -1+" (6 4) (list (1+ 5) (-1+ 5))) ; guile: no -1+
(test "1+ alone" 6 (1+ 5))
(test "1+ of a real" 2.5 (1+ 1.5))
(test "exact->inexact of an integer" 3.0 (exact->inexact 3))
(test "inexact->exact of a bignum" 1000000000000000000000 (inexact->exact 1e21))
(test "assert of a true value" 5 (assert (= 1 1)) 5)
(test-error "assert of a false value" (assert (= 1 2)))
(test "assert is caught by guard" caught (guard (e (#t 'caught)) (assert #f)))

(test "sort a list" (1 2 3 5) (sort '(3 1 5 2) <))
(test "sort descending" (5 3 2 1) (sort '(3 1 5 2) >))
(test "sort the empty list" () (sort '() <))
(test "sort a list with repeats" (1 1 2 2) (sort '(2 1 2 1) <))
(test "sort is stable" ((1 . a) (1 . b) (2 . c) (2 . d)) (sort '((2 . c) (1 . a) (2 . d) (1 . b)) (lambda (x y) (< (car x) (car y)))))
(test "sort strings" ("a" "b" "c") (sort '("c" "a" "b") string<?))
(test "sort a vector" #(1 2 3) (sort (vector 3 1 2) <))
(test "sort leaves its argument alone" (3 1 2) (let ((l (list 3 1 2))) (sort l <) l))
(test "sort a long list" #t (let* ((l (map (lambda (i) (modulo (* i 7919) 10007)) (iota 10000))) (s (sort l <))) (apply <= s)))
(test "sort mixed exactness" (1 1.5 2) (sort '(2 1 1.5) <))
(test "list-sort" (1 2 3) (list-sort < '(3 1 2))) ; mit: not defined
(test "list-index of a predicate" 1 (list-index even? '(1 2 3)))

(test "cons-stream delays its tail" 1 (define s (cons-stream 1 (car '()))) (car s)) ; guile: no cons-stream
(test "cons-stream tail by force" 2 (define s (cons-stream 1 (cons-stream 2 '()))) (car (force (cdr s)))) ; guile: no cons-stream
(test "cons-stream is evaluated once" 1 (define n 0) (define s (cons-stream 0 (begin (set! n (+ n 1)) '()))) (force (cdr s)) (force (cdr s)) n) ; guile: no cons-stream
(test "cons-stream infinite" (0 1 2 3) (define (from n) (cons-stream n (from (+ n 1)))) (define (take-s s n) (if (= n 0) '() (cons (car s) (take-s (force (cdr s)) (- n 1))))) (take-s (from 0) 4)) ; guile: no cons-stream
(test "stream-car and stream-cdr" (1 2) (define s (cons-stream 1 (cons-stream 2 '()))) (list (stream-car s) (stream-car (stream-cdr s)))) ; guile: no cons-stream
(test "primes by sieve with streams" (2 3 5 7 11)
  (define (from n) (cons-stream n (from (+ n 1))))
  (define (keep p s) (if (p (stream-car s)) (cons-stream (stream-car s) (keep p (stream-cdr s))) (keep p (stream-cdr s))))
  (define (sieve s) (cons-stream (stream-car s) (sieve (keep (lambda (x) (not (= 0 (remainder x (stream-car s))))) (stream-cdr s)))))
  (define (take-s s n) (if (= n 0) '() (cons (stream-car s) (take-s (stream-cdr s) (- n 1))))) (take-s (sieve (from 2)) 5)) ; guile: no cons-stream

(test "call-with-output-string" "a\"b\"1" (call-with-output-string (lambda (p) (display "a" p) (write "b" p) (write 1 p))))
(test "with-output-to-string of nothing" "" (with-output-to-string (lambda () #t)))
(test "with-output-to-string restores the port" ("in" "out") (let* ((inner "") (outer (with-output-to-string (lambda () (set! inner (with-output-to-string (lambda () (display "in")))) (display "out"))))) (list inner outer)))
(test "string-search-forward" (2 #f) (list (string-search-forward "cd" "abcdcd" 0) (string-search-forward "x" "abc" 0))) ; guile: not defined
(test "string-search-forward from a start" 4 (string-search-forward "cd" "abcdcd" 3)) ; guile: not defined
(test "string-search-forward at the start" 0 (string-search-forward "ab" "abab" 0)) ; guile: not defined
(test "square of an exact and a real" (9 2.25) (list (square 3) (square 1.5)))
(test "receive with a fixed and a rest formal" (1 (2 3)) (receive (a . r) (values 1 2 3) (list a r)))
(test "boolean of a search in a list" #t (and (memv 2 '(1 2 3)) #t))
(test "define inside a when body by let" 3 (when #t (let () (define x 3) x)))

;; Whole programs
(test "eight queens has 92 solutions" 92
  (define (queens n) (define (ok? row dist placed) (or (null? placed) (and (not (= (car placed) (+ row dist))) (not (= (car placed) (- row dist))) (not (= (car placed) row)) (ok? row (+ dist 1) (cdr placed)))))
    (define (place k placed) (if (= k 0) 1 (let loop ((row 1) (sum 0)) (if (> row n) sum (loop (+ row 1) (if (ok? row 1 placed) (+ sum (place (- k 1) (cons row placed))) sum))))))
    (place n '()))
  (queens 8))
(test "ackermann" 61 (define (ack m n) (cond ((= m 0) (+ n 1)) ((= n 0) (ack (- m 1) 1)) (else (ack (- m 1) (ack m (- n 1)))))) (ack 3 3))
(test "hanoi moves" 1023 (define (hanoi n) (if (= n 0) 0 (+ 1 (* 2 (hanoi (- n 1)))))) (hanoi 10))
(test "church numerals" 6 (define (church n) (lambda (f) (lambda (x) (let loop ((i n) (x x)) (if (= i 0) x (loop (- i 1) (f x))))))) (define (mul a b) (lambda (f) (a (b f)))) (((mul (church 2) (church 3)) 1+) 0))
(test "y combinator" 120 (define y (lambda (f) ((lambda (x) (f (lambda (v) ((x x) v)))) (lambda (x) (f (lambda (v) ((x x) v))))))) ((y (lambda (fact) (lambda (n) (if (= n 0) 1 (* n (fact (- n 1))))))) 5))
(test "small evaluator" 120
  (define (ev x env) (cond ((symbol? x) (cdr (assq x env))) ((not (pair? x)) x)
    (else (case (car x)
      ((quote) (cadr x)) ((if) (if (ev (cadr x) env) (ev (caddr x) env) (ev (cadddr x) env)))
      ((lambda) (lambda args (ev (caddr x) (append (map cons (cadr x) args) env))))
      (else (apply (ev (car x) env) (map (lambda (a) (ev a env)) (cdr x))))))))
  (ev '((lambda (f n) (f f n)) (lambda (f n) (if (= n 0) 1 (* n (f f (- n 1))))) 5)
      (list (cons '= =) (cons '* *) (cons '- -))))
(test "newton square root" 1.4142135623730951 (define (root x) (let loop ((g 1.0) (n 0)) (if (= n 30) g (loop (/ (+ g (/ x g)) 2) (+ n 1))))) (root 2))
(test "string reversal by list" "cba" (list->string (reverse (string->list "abc"))))
(test "matrix product with vectors" #(#(19 22) #(43 50))
  (define (ref m i j) (vector-ref (vector-ref m i) j))
  (define (mul a b n) (let ((c (make-vector n))) (do ((i 0 (+ i 1))) ((= i n) c) (vector-set! c i (make-vector n 0))
    (do ((j 0 (+ j 1))) ((= j n)) (do ((k 0 (+ k 1))) ((= k n)) (vector-set! (vector-ref c i) j (+ (ref c i j) (* (ref a i k) (ref b k j)))))))))
  (mul #(#(1 2) #(3 4)) #(#(5 6) #(7 8)) 2))
(test "collatz longest start below 1000" 871 (define (len n) (let loop ((n n) (c 1)) (if (= n 1) c (loop (if (even? n) (quotient n 2) (+ 1 (* 3 n))) (+ c 1))))) (let loop ((i 1) (best 0) (at 0)) (if (= i 1000) at (let ((l (len i))) (if (> l best) (loop (+ i 1) l i) (loop (+ i 1) best at))))))
(test "digits of two to the hundred sum to 115" 115 (apply + (map digit-value (string->list (number->string (expt 2 100))))))
