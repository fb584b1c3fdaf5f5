;; R7RS section 4.2.1 to 4.2.4: conditionals, binding constructs, sequencing, iteration.

;; 4.2.1 Conditionals
(test "cond takes the first true clause" b (cond ((= 1 2) 'a) ((= 1 1) 'b) (#t 'c)))
(test "cond else" last (cond ((= 1 2) 'a) ((= 2 3) 'b) (else 'last)))
(test "cond with arrow" 2 (cond ((assv 'b '((a 1) (b 2))) => cadr) (else #f)))
(test "cond with arrow evaluates the test once" 1
  (define n 0) (cond ((begin (set! n (+ n 1)) n) => (lambda (x) x)) (else 0)))
(test "cond clause of a test alone gives its value" 5 (cond (#f 1) ((+ 2 3)) (else 0)))
(test "cond clause with several expressions" 3 (cond (#t 1 2 3)))
(test "cond else with several expressions" (1 2)
  (define l '()) (cond (#f 0) (else (set! l (cons 2 l)) (set! l (cons 1 l)) l)))
(test "cond does not evaluate later tests" ok (cond (#t 'ok) ((car '()) 'no)))
(test "cond else may be shadowed" b
  (let ((else #f)) (cond (#f 'a) (else 'c) (#t 'b))))
(test "cond arrow may be shadowed" ok (let ((=> #f)) (cond (#t => 'ok))))
(test "cond tail position" done
  (define (loop n) (cond ((= n 0) 'done) (else (loop (- n 1))))) (loop 100000))
(test "cond arrow calls its receiver in tail position" done
  (define (loop n) (cond ((= n 0) 'done) ((- n 1) => loop))) (loop 100000))

(test "case on numbers" two-or-three (case (- 7 4) ((1) 'one) ((2 3) 'two-or-three) ((4) 'four)))
(test "case on symbols with else" other (case 'y ((a e i) 'vowel) (else 'other)))
(test "case on chars" yes (case #\b ((#\a #\b) 'yes) (else 'no)))
(test "case on the empty list and booleans" (nil true)
  (list (case '() ((()) 'nil) (else 'no)) (case #t ((#t) 'true) (else 'no))))
(test "case compares with eqv, so equal lists differ" no (case (list 1) (((1)) 'yes) (else 'no)))
(test "case distinguishes exactness" inexact (case 2.0 ((2) 'exact) ((2.0) 'inexact) (else 'none)))
(test "case with several expressions" 2 (case 1 ((1) 1 2) (else 3)))
(test "case clause with arrow" 36 (case 6 ((6) => square) (else 0)))
(test "case else with arrow" (c) (case 'c ((a) 1) (else => list)))
(test "case data are not evaluated" quoted (case 'x ((x) 'quoted) (else 'no)))
(test "case with a single else" 3 (case 1 (else 3)))
(test "case tail position" done
  (define (loop n) (case n ((0) 'done) (else (loop (- n 1))))) (loop 100000))

(test "and of nothing" #t (and))
(test "and returns the last value" (f g) (and 1 2 'c '(f g)))
(test "and stops at the first false" #f (and 1 #f (car '())))
(test "and tail position" done
  (define (loop n) (and #t (if (= n 0) 'done (loop (- n 1))))) (loop 100000))
(test "or of nothing" #f (or))
(test "or returns the first true value" (b c) (or (memq 'b '(a b c)) (car '())))
(test "or of false values" #f (or #f #f #f))
(test "or evaluates each operand once" 1
  (define n 0) (or (begin (set! n (+ n 1)) #f) n))
(test "or tail position" done
  (define (loop n) (or (and (= n 0) 'done) (loop (- n 1)))) (loop 100000))
(test "when true gives the last value" 3 (when (> 2 1) 1 2 3))
(test "when false evaluates nothing" 0 (define n 0) (when #f (set! n 1)) n)
(test "unless false gives the last value" 3 (unless (> 1 2) 1 2 3))
(test "unless true evaluates nothing" 0 (define n 0) (unless #t (set! n 1)) n)
(test "when and unless tail position" done
  (define (f n) (when #t (if (= n 0) 'done (g (- n 1)))))
  (define (g n) (unless #f (if (= n 0) 'done (f (- n 1))))) (f 100000))

(test "cond-expand with a feature" yes (cond-expand (r7rs 'yes) (else 'no)))
(test "cond-expand falls to else" no (cond-expand (no-such-feature 'yes) (else 'no)))
(test "cond-expand and or not" ok
  (cond-expand ((and r7rs (or no-such-feature (not other-missing-feature))) 'ok) (else 'bad)))
(test "cond-expand library requirement" (yes no)
  (list (cond-expand ((library (scheme base)) 'yes) (else 'no))
        (cond-expand ((library (no such library)) 'yes) (else 'no)))) ; guile: a missing library is an error
(test "cond-expand at top level defines" 5
  (cond-expand (r7rs (define x 2) (define y 3)) (else (define x 0) (define y 0))) (+ x y))

;; 4.2.2 Binding constructs
(test "let binds in parallel" (10 3)
  (let ((a 1) (b 3)) (let ((a 10) (c (* a b))) (list a c))))
(test "let without bindings" 1 (let () 1))
(test "let body with definitions" 6 (let ((x 1)) (define y 2) (define z 3) (+ x y z)))
(test "let swaps" (2 1) (let ((a 1) (b 2)) (let ((a b) (b a)) (list a b))))
(test "let* binds in sequence" (10 30)
  (let ((a 1) (b 3)) (let* ((a 10) (c (* a b))) (list a c))))
(test "let* may repeat a name" 3 (let* ((x 1) (x (+ x 1)) (x (+ x 1))) x))
(test "let* without bindings" 5 (let* () 5))
(test "letrec for mutual recursion" (ping pong ping)
  (letrec ((ping (lambda (n) (if (= n 0) '() (cons 'ping (pong (- n 1))))))
           (pong (lambda (n) (if (= n 0) '() (cons 'pong (ping (- n 1)))))))
    (ping 3)))
(test "letrec bodies see all the bindings" (2 1)
  (letrec ((f (lambda () (list (g) 1))) (g (lambda () 2))) (f)))
(test "letrec* binds in sequence" 21
  (letrec* ((triple (lambda (x) (* 3 (shift x)))) (shift (lambda (x) (+ x 2))) (v (triple 5)))
    v))
(test "letrec* uses an earlier value" (1 2 3) (letrec* ((a 1) (b (+ a 1)) (c (+ b 1))) (list a b c)))
(test-error "letrec refers to a binding too early" (letrec ((a 1) (b (+ a 1))) b))
(test-error "letrec* refers to a later binding" (letrec* ((a (+ b 1)) (b 1)) a))
(test "let-values" (1 2 3) (let-values (((a b) (values 1 2)) ((c) (values 3))) (list a b c)))
(test "let-values with rest formals" (1 (2 3) (4 5))
  (let-values (((a . r) (values 1 2 3)) (all (values 4 5))) (list a r all)))
(test "let-values binds in parallel" (x y a b)
  (let ((a 'a) (b 'b) (x 'x) (y 'y))
    (let-values (((a b) (values x y)) ((x y) (values a b))) (list a b x y))))
(test "let*-values binds in sequence" (x y x y)
  (let ((a 'a) (b 'b) (x 'x) (y 'y))
    (let*-values (((a b) (values x y)) ((x y) (values a b))) (list a b x y))))
(test "let-values of no values" 1 (let-values ((() (values))) 1))
(test "let-values with floor/" 13 (let-values (((q r) (floor/ 67 6))) (+ q r 1)))
(test "receive" (1 (2 3)) (receive (a . rest) (values 1 2 3) (list a rest)))
(test "receive all values" (1 2) (receive all (values 1 2) all))
(test "let over lambda counter" (1 2 3)
  (define next (let ((n 0)) (lambda () (set! n (+ n 1)) n)))
  (let* ((a (next)) (b (next)) (c (next))) (list a b c)))
(test-error "let with an unbound initialiser" (let ((x 1) (y x)) y))
(test-error "let-values with too few values" (let-values (((a b) (values 1))) a))

;; 4.2.3 Sequencing
(test "begin returns the last value" 3 (begin 1 2 3))
(test "begin runs in order" (3 2 1)
  (define l '()) (begin (set! l (cons 1 l)) (set! l (cons 2 l)) (set! l (cons 3 l))) l)
(test "begin at top level splices definitions" 3 (begin (define a 1) (define b 2)) (+ a b))
(test "begin in a body splices definitions" 3 (let () (begin (define a 1) (define b 2)) (+ a b)))
(test "begin tail position" done
  (define (loop n) (begin 0 (if (= n 0) 'done (loop (- n 1))))) (loop 100000))

;; 4.2.4 Iteration
(test "do builds a vector" #(0 2 4 6)
  (do ((v (make-vector 4)) (k 0 (+ k 1))) ((= k 4) v) (vector-set! v k (* 2 k))))
(test "do sums a list" 60
  (do ((l '(10 20 30) (cdr l)) (s 0 (+ s (car l)))) ((null? l) s)))
(test "do steps in parallel" (8 5)
  (do ((a 1 b) (b 1 (+ a b)) (i 0 (+ i 1))) ((= i 4) (list b a))))
(test "do variable without a step" 3 (do ((n 3) (i 0 (+ i 1))) ((= i 10) n)))
(test "do with several result expressions" 2 (do ((i 0 (+ i 1))) ((= i 3) 1 2)))
(test "do with zero iterations" 0 (do ((i 0 (+ i 1))) (#t i) (car '())))
(test "do binds afresh on each iteration" (0 1 2)
  (let ((fs '())) (do ((i 0 (+ i 1))) ((= i 3)) (set! fs (cons (lambda () i) fs)))
    (map (lambda (f) (f)) (reverse fs))))
(test "do of many iterations" 100000 (do ((i 0 (+ i 1))) ((= i 100000) i)))
(test "named let" ((c a) (3 2 1))
  (let sift ((l '(1 a 2 3 c)) (symbols '()) (numbers '()))
    (cond ((null? l) (list symbols numbers))
          ((symbol? (car l)) (sift (cdr l) (cons (car l) symbols) numbers))
          (else (sift (cdr l) symbols (cons (car l) numbers))))))
(test "named let without bindings" 3
  (let ((n 0)) (let again () (if (< n 3) (begin (set! n (+ n 1)) (again)) n))))
(test "named let not in tail position" 120 (let f ((n 5)) (if (= n 0) 1 (* n (f (- n 1))))))
(test "named let initialisers do not see the name" outer
  (let ((f (lambda () 'outer))) (let f ((x (f))) x)))
(test "named let tail position" 100000 (let loop ((i 0)) (if (< i 100000) (loop (+ i 1)) i)))
(test "nested loops" 45
  (let outer ((i 0) (s 0))
    (if (= i 10) s (outer (+ i 1) (let inner ((j 0) (s s)) (if (= j i) s (inner (+ j 1) (+ s 1))))))))
