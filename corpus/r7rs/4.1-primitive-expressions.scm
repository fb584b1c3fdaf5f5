;; R7RS section 4.1: variables, literals, calls, procedures, conditionals, assignment.

;; 4.1.1 Variable references
(test "variable reference" 28 (define x 28) x)
(test-error "reference to an unbound variable" (+ 1 no-such-variable))
(test-error "unbound variable inside a called procedure" (define (f) (undefined-g 1)) (f))
(test "unbound variable in a procedure that is not called" 1 (define (f) (undefined-g 1)) 1)
(test "forward reference between procedures" 5 (define (f) (g)) (define (g) 5) (f))

;; 4.1.2 Literal expressions
(test "quote of a symbol" a (quote a))
(test "quote of a vector" #(a b c) (quote #(a b c)))
(test "quote of a list" (+ 1 2) (quote (+ 1 2)))
(test "quote of the empty list" () '())
(test "self-evaluating string" "abc" "abc")
(test "self-evaluating number under quote" 145932 '145932)
(test "self-evaluating char" #\a #\a)
(test "self-evaluating boolean" #t '#t)
(test "quoted structure is not evaluated" (quote a) ''a)

;; 4.1.3 Procedure calls
(test "operator position is evaluated" 12 ((if #f + *) 3 4))
(test "call with no operands" 9 ((lambda () 9)))
(test "call of a procedure from a list" 3 ((car (list + -)) 1 2))
(test "curried call" 6 (((lambda (x) (lambda (y) (* x y))) 2) 3))
(test-error "call of a number" (5 1))
(test-error "call of a string" ("f" 1))
(test-error "call with too many arguments" ((lambda (x) x) 1 2))
(test-error "call with too few arguments" ((lambda (x y) x) 1))
(test-error "call of a rest procedure with too few arguments" ((lambda (x y . r) x) 1))
(test-error "primitive called with too few arguments" (cons 1))
(test-error "primitive called with too many arguments" (car '(1) '(2)))
(test "every operand is evaluated once" 3
  (define n 0) (define (tick) (set! n (+ n 1)) n) (list (tick) (tick) (tick)) n)

;; 4.1.4 Procedures
(test "lambda applied" 8 ((lambda (x) (+ x x)) 4))
(test "lambda is a procedure" #t (procedure? (lambda (x) x)))
(test "lambda with a rest list only" (3 4 5 6) ((lambda x x) 3 4 5 6))
(test "lambda with a rest list only and no arguments" () ((lambda x x)))
(test "lambda with a dotted rest" (5 6) ((lambda (x y . z) z) 3 4 5 6))
(test "lambda with an empty dotted rest" () ((lambda (x y . z) z) 3 4))
(test "lambda body returns its last expression" 3 ((lambda () 1 2 3)))
(test "lambda keeps its environment" 10
  (define add4 (let ((x 4)) (lambda (y) (+ x y)))) (add4 6))
(test "closures share a variable" 2
  (define p (let ((n 0)) (cons (lambda () (set! n (+ n 1))) (lambda () n))))
  ((car p)) ((car p)) ((cdr p)))
(test "each call makes a fresh variable" (1 1)
  (define (make) (let ((n 0)) (lambda () (set! n (+ n 1)) n)))
  (let ((a (make)) (b (make))) (list (a) (b))))
(test "rest list is freshly allocated" (1 2)
  (define l (list 1 2)) (define r (apply (lambda x x) l)) (set-car! r 9) l)
(test "parameter shadows a global" 2 (define x 1) ((lambda (x) x) 2))
(test "scope is lexical, not dynamic" 1
  (define x 1) (define (f) x) (let ((x 2)) (f)))
(test "lambda parameter may have the name of a keyword" 7 ((lambda (define) (+ define 1)) 6))
(test "lambda parameter may shadow a primitive" (1 2) ((lambda (car) (car 1 2)) list))

;; 4.1.5 Conditionals
(test "if true" yes (if (> 3 2) 'yes 'no))
(test "if false" no (if (> 2 3) 'yes 'no))
(test "if evaluates one branch only" 1 (if (> 3 2) (- 3 2) (car '())))
(test "only #f is false" (t t t t f)
  (map (lambda (x) (if x 't 'f)) (list '() 0 "" #t #f)))
(test "if without alternative, true" 1 (if #t 1))
(test "if as operand" 11 (+ 1 (if #f 0 10)))
(test-error "if without operands" (if))

;; 4.1.6 Assignments
(test "set! changes a global" 5 (define x 2) (set! x 5) x)
(test "set! changes a local" 5 (let ((x 2)) (set! x (+ x 3)) x))
(test "set! reaches the nearest binding" (1 3)
  (define x 1) (define inner (let ((x 2)) (set! x 3) x)) (list x inner))
(test "set! of a parameter leaves the caller alone" 1
  (define y 1) ((lambda (x) (set! x 9)) y) y)
(test "set! of a captured variable is seen by the closure" 9
  (let* ((x 1) (f (lambda () x))) (set! x 9) (f)))
(test-error "set! of an unbound variable" (set! never-defined 1))

;; Keywords are not reserved
(test "let may bind if" (1 2 3) (let ((if list)) (if 1 2 3)))
(test "let may bind quote" 4 (let ((quote -)) '-4))
(test "let may bind lambda" 3 (let ((lambda +)) (lambda 1 2)))
(test "let may bind begin" (1 2) (let ((begin list)) (begin 1 2)))
(test "let may bind set!" 5 (let ((set! +)) (set! 2 3)))
(test "internal define may bind a keyword" 6 (define (f) (define when *) (when 2 3)) (f))
(test "define may shadow a primitive" (sum 1 2) (define (+ a b) (list 'sum a b)) (+ 1 2))
(test "redefined primitive is seen by user procedures" 42
  (define (f x) (abs x)) (define (abs x) 42) (f -1))
(test "redefined primitive does not change library procedures" (2 1)
  (define (cons a b) 'mine) (reverse (list 1 2)))
(test "local binding of a primitive is local" (5 -5)
  (list (let ((- (lambda (x) x))) (- 5)) (- 5)))

;; Proper tail calls (3.5)
(test "tail call in a self loop runs in constant space" done
  (define (loop n) (if (= n 0) 'done (loop (- n 1)))) (loop 300000))
(test "mutual tail calls run in constant space" #t
  (define (ev? n) (if (= n 0) #t (od? (- n 1))))
  (define (od? n) (if (= n 0) #f (ev? (- n 1)))) (ev? 200000))
(test "tail call through apply" done
  (define (loop n) (if (= n 0) 'done (apply loop (list (- n 1))))) (loop 100000))
(test "tail call in a body after a definition" done
  (define (loop n) (define m (- n 1)) (if (< m 0) 'done (loop m))) (loop 100000))
(test "tail call to a closure argument" 100000
  (define (count n acc k) (if (= n 0) (k acc) (count (- n 1) (+ acc 1) k)))
  (count 100000 0 (lambda (x) x)))
(test "continuation passing style in constant space" 50000
  (define (len l k) (if (null? l) (k 0) (len (cdr l) (lambda (n) (k (+ n 1))))))
  (len (make-list 50000 'x) (lambda (n) n)))
(test "deep recursion that is not a tail call" 100000
  (define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1))))) (depth 100000))
(test "deep recursion building a list" 100000
  (define (build n) (if (= n 0) '() (cons n (build (- n 1))))) (length (build 100000)))
