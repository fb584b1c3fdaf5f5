;; A calculator language with functions, as an evaluator for
;;   dmci run PROGRAM --mode eval:examples/languages/calc.scm
;;
;; A program is a row of statements:
;;
;;   let NAME = EXPRESSION                      gives a name a value
;;   fun NAME (PARAMETER, ...) = EXPRESSION     defines a function
;;   show EXPRESSION                            prints a value
;;
;; An expression has infix operators with blanks around them and the usual precedence (^ is a
;; power), parentheses, calls NAME (EXPRESSION, ...), and if EXPRESSION then EXPRESSION else
;; EXPRESSION. The value of a program is its last value.

;;; Parsing: a parser takes tokens and gives (tree . rest of the tokens).

(define (parse-expression tokens)
  (if (next? tokens 'if)
      (let* ((test (parse-expression (cdr tokens)))
             (yes (parse-expression (expect 'then (cdr test))))
             (no (parse-expression (expect 'else (cdr yes)))))
        (cons (list 'if (car test) (car yes) (car no)) (cdr no)))
      (parse-infix levels tokens)))

;; Operators from weak to strong; each level is applied from the left.
(define levels '((= < >) (+ -) (* /)))

(define (parse-infix levels tokens)
  (if (null? levels)
      (parse-power tokens)
      (let loop ((left (parse-infix (cdr levels) tokens)))
        (let ((rest (cdr left)))
          (if (and (pair? rest) (memq (car rest) (car levels)))
              (let ((right (parse-infix (cdr levels) (cdr rest))))
                (loop (cons (list (car rest) (car left) (car right)) (cdr right))))
              left)))))

(define (parse-power tokens)
  (let ((base (parse-operand tokens)))
    (if (next? (cdr base) '^)
        (let ((exponent (parse-power (cddr base))))
          (cons (list '^ (car base) (car exponent)) (cdr exponent)))
        base)))

(define (parse-operand tokens)
  (if (null? tokens) (error "the program ends where a value should follow"))
  (let ((token (car tokens)) (rest (cdr tokens)))
    (cond ((eq? token '-)
           (let ((operand (parse-operand rest)))
             (cons (list '- 0 (car operand)) (cdr operand))))
          ((number? token) (cons token rest))
          ((pair? token) (cons (parse-all token) rest))
          ((and (symbol? token) (pair? rest) (or (pair? (car rest)) (null? (car rest))))
           (cons (list 'call token (parse-arguments (car rest))) (cdr rest)))
          ((symbol? token) (cons token rest))
          (else (error "this cannot be a value:" token)))))

(define (parse-all tokens)
  (let ((result (parse-expression tokens)))
    (if (pair? (cdr result)) (error "an operator is missing before" (cadr result)))
    (car result)))

(define (parse-arguments tokens)
  (map parse-all (split-at-commas tokens)))

;; The reader makes (unquote b) of the comma and the datum behind it: (a, b + 1) arrives as
;; (a (unquote b) + 1) and leaves as ((a) (b + 1)).
(define (split-at-commas tokens)
  (define (comma? token)
    (and (pair? token) (eq? (car token) 'unquote)))
  (define (collect part tokens)
    (cond ((null? tokens) (list (reverse part)))
          ((comma? (car tokens))
           (cons (reverse part) (collect (list (cadar tokens)) (cdr tokens))))
          (else (collect (cons (car tokens) part) (cdr tokens)))))
  (if (null? tokens) '() (collect '() tokens)))

(define (next? tokens token)
  (and (pair? tokens) (eq? (car tokens) token)))

(define (expect token tokens)
  (if (next? tokens token)
      (cdr tokens)
      (error "something is missing here:" token)))

;;; Evaluation

(define (value tree env)
  (cond ((number? tree) tree)
        ((symbol? tree) (lookup tree env))
        ((eq? (car tree) 'if)
         (value (if (value (cadr tree) env) (caddr tree) (cadddr tree)) env))
        ((eq? (car tree) 'call)
         (apply (lookup (cadr tree) env)
                (map (lambda (argument) (value argument env)) (caddr tree))))
        (else
         ((operator (car tree)) (value (cadr tree) env) (value (caddr tree) env)))))

(define (operator name)
  (case name
    ((+) +) ((-) -) ((*) *) ((/) /) ((^) expt) ((=) =) ((<) <) ((>) >)))

(define (lookup name env)
  (let ((binding (assq name env)))
    (if binding (cdr binding) (error "this name has no value:" name))))

(define built-in
  (list (cons 'sqrt sqrt) (cons 'exp exp) (cons 'log log) (cons 'abs abs) (cons 'pi (acos -1))))

;; A function sees itself, so that it can be recursive: its own binding is made first.
(define (make-function name parameters body env)
  (let ((self (list name)))
    (set-cdr! self
              (lambda arguments
                (if (not (= (length arguments) (length parameters)))
                    (error "wrong number of arguments for" name))
                (value body (append (map cons parameters arguments) (cons self env)))))
    self))

;;; Statements

(define (run tokens env last)
  (if (null? tokens)
      last
      (case (car tokens)
        ((show)
         (let* ((shown (parse-expression (cdr tokens)))
                (result (value (car shown) env)))
           (display result)
           (newline)
           (run (cdr shown) env result)))
        ((let)
         (let* ((name (cadr tokens))
                (given (parse-expression (expect '= (cddr tokens))))
                (result (value (car given) env)))
           (run (cdr given) (cons (cons name result) env) result)))
        ((fun)
         (let* ((name (cadr tokens))
                (parameters (map car (split-at-commas (caddr tokens))))
                (body (parse-expression (expect '= (cdddr tokens)))))
           (run (cdr body) (cons (make-function name parameters (car body) env) env) last)))
        (else (error "a statement starts with let, fun or show, not with" (car tokens))))))

;; What dmci calls: the data of the program's text, and the bindings of --set.
(define (evaluate forms env)
  (run forms (append env built-in) 'nothing))
