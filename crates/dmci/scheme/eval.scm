;;; The evaluator: Scheme in Scheme.
;;;
;;; Core forms, as the expander makes them, are analysed once: each becomes a procedure of its
;;; frame. A frame is a vector, the enclosing frame first and then the variables; a scope has the
;;; frames' variables in a list, so a variable has a lexical address. Interpreted procedures are
;;; procedures of the machine. An expression is always reached through the pair whose car it is:
;;; that pair knows its place in the source text, for errors.

(define (evaluate-program forms env)
  (run (%expand-program forms env) env))

(define (eval form . env)
  (let ((env (if (pair? env) (car env) (interaction-environment))))
    (run (%expand form env) env)))

(define (run forms env)
  (if (pair? forms)
      (let ((scope (list (make-eqv-hash-table))))
        (let loop ((forms forms))
          (let ((form (analyze forms scope env)))
            (if (null? (cdr forms))
                (form #f)
                (begin (form #f) (loop (cdr forms)))))))))

(define (analyze place scope env)
  (let ((x (car place)))
    (cond ((symbol? x) (analyze-variable place scope env))
          ((pair? x) (analyze-form x scope env))
          (else (lambda (frame) x)))))

(define (analyze-form x scope env)
  (case (car x)
    ((quote) (let ((datum (cadr x))) (lambda (frame) datum)))
    ((if) (analyze-if x scope env))
    ((lambda) (analyze-lambda (cdr x) #f scope env))
    ((case-lambda) (analyze-case-lambda (cdr x) #f scope env))
    ((begin) (analyze-sequence (cdr x) scope env))
    ((letrec*) (analyze-letrec (cadr x) (cddr x) scope env))
    ((set!) (analyze-assignment x scope env))
    ((define) (analyze-definition x scope env))
    (else
     (let ((operator (car x)))
       (if (and (pair? operator)
                (eq? (car operator) 'lambda)
                (same-length? (cadr operator) (cdr x)))
           (analyze-let (cadr operator) (cddr operator) (cdr x) scope env)
           (analyze-application x scope env))))))

;;; Variables

;; A scope: all names that are local anywhere, then the variables of each frame, innermost first.
;; A name in a box stands for a variable that may be read before it has a value.
(define (extend scope names)
  (for-each (lambda (name)
              (hash-table-set! (car scope) (if (pair? name) (car name) name) #t))
            names)
  (cons (car scope) (cons names (cdr scope))))

;; The address of a name: how many frames up, and its slot there; #f if it is global, which is
;; mostly known without a search, however deep the scope is.
(define (address name scope)
  (let up ((depth 0) (frames (if (hash-table-contains? (car scope) name) (cdr scope) '())))
    (and (pair? frames)
         (let across ((slot 1) (names (car frames)))
           (cond ((null? names) (up (+ depth 1) (cdr frames)))
                 ((eq? (car names) name) (vector depth slot #f))
                 ((and (pair? (car names)) (eq? (caar names) name)) (vector depth slot #t))
                 (else (across (+ slot 1) (cdr names))))))))

(define (analyze-variable place scope env)
  (let ((at (address (car place) scope)))
    (cond ((not at)
           (let ((cell (%global (car place) env)))
             (lambda (frame) (%global-ref cell place))))
          ((vector-ref at 2)
           (let ((fetch (fetcher (vector-ref at 0) (vector-ref at 1))))
             (lambda (frame)
               (let ((value (fetch frame)))
                 (if (%unset? value) (%unset-variable place) value)))))
          (else (fetcher (vector-ref at 0) (vector-ref at 1))))))

(define (fetcher depth slot)
  (case depth
    ((0) (lambda (frame) (vector-ref frame slot)))
    ((1) (lambda (frame) (vector-ref (vector-ref frame 0) slot)))
    ((2) (lambda (frame) (vector-ref (vector-ref (vector-ref frame 0) 0) slot)))
    (else (lambda (frame) (vector-ref (ancestor frame depth) slot)))))

(define (ancestor frame depth)
  (if (= depth 0) frame (ancestor (vector-ref frame 0) (- depth 1))))

(define (analyze-assignment x scope env)
  (let ((at (address (cadr x) scope))
        (value (analyze (cddr x) scope env)))
    (if at
        (let ((depth (vector-ref at 0)) (slot (vector-ref at 1)))
          (lambda (frame) (vector-set! (ancestor frame depth) slot (value frame))))
        (let ((cell (%global (cadr x) env)))
          (lambda (frame) (%global-set! cell (value frame) x))))))

(define (analyze-definition x scope env)
  (let ((cell (%global (cadr x) env))
        (value (analyze-named (cadr x) (cddr x) scope env)))
    (lambda (frame) (%global-define! cell (value frame)))))

;; A procedure takes the name that it is bound to.
(define (analyze-named name place scope env)
  (let ((x (car place)))
    (case (and (pair? x) (car x))
      ((lambda) (analyze-lambda (cdr x) name scope env))
      ((case-lambda) (analyze-case-lambda (cdr x) name scope env))
      (else (analyze place scope env)))))

;;; Control

(define (analyze-if x scope env)
  (let ((test (analyze (cdr x) scope env))
        (consequence (analyze (cddr x) scope env))
        (alternative (analyze (cdddr x) scope env)))
    (lambda (frame) (if (test frame) (consequence frame) (alternative frame)))))

(define (analyze-sequence places scope env)
  (let ((first (analyze places scope env)))
    (if (null? (cdr places))
        first
        (let ((rest (analyze-sequence (cdr places) scope env)))
          (lambda (frame) (first frame) (rest frame))))))

;;; Binding

(define (analyze-let names body operands scope env)
  (let ((body (analyze body (extend scope names) env))
        (inits (analyze-operands operands scope env)))
    (case (length inits)
      ((1) (let ((a (car inits)))
             (lambda (frame) (body (vector frame (a frame))))))
      ((2) (let ((a (car inits)) (b (cadr inits)))
             (lambda (frame)
               (let* ((x (a frame)) (y (b frame))) (body (vector frame x y))))))
      (else
       (lambda (frame) (body (apply vector frame (values-of inits frame))))))))

(define (analyze-letrec bindings body scope env)
  (let* ((scope (extend scope (map (lambda (binding) (list (car binding))) bindings)))
         (inits (map (lambda (binding) (analyze-named (car binding) (cdr binding) scope env)) bindings))
         (body (analyze body scope env))
         (size (+ 1 (length inits))))
    (lambda (frame)
      (let ((frame (fresh-frame size frame)))
        (let fill ((slot 1) (inits inits))
          (if (null? inits)
              (body frame)
              (begin (vector-set! frame slot ((car inits) frame))
                     (fill (+ slot 1) (cdr inits)))))))))

(define (fresh-frame size parent)
  (let ((frame (make-vector size (%unset))))
    (vector-set! frame 0 parent)
    frame))

;;; Procedures

(define (analyze-lambda clause name scope env)
  (let* ((formals (car clause))
         (names (proper formals))
         (rest? (not (list? formals)))
         (required (if rest? (- (length names) 1) (length names)))
         (body (analyze (cdr clause) (extend scope names) env)))
    (define (general frame)
      (%named name required rest?
              (lambda arguments (body (%frame frame required rest? arguments)))))
    (if rest?
        general
        (case required
          ((0) (lambda (frame)
                 (%named name 0 #f (lambda () (body (vector frame))))))
          ((1) (lambda (frame)
                 (%named name 1 #f (lambda (a) (body (vector frame a))))))
          ((2) (lambda (frame)
                 (%named name 2 #f (lambda (a b) (body (vector frame a b))))))
          ((3) (lambda (frame)
                 (%named name 3 #f (lambda (a b c) (body (vector frame a b c))))))
          ((4) (lambda (frame)
                 (%named name 4 #f (lambda (a b c d) (body (vector frame a b c d))))))
          (else general)))))

(define (analyze-case-lambda clauses name scope env)
  (let ((clauses (map (lambda (clause) (analyze-lambda clause name scope env)) clauses)))
    (lambda (frame) (apply %case-lambda (values-of clauses frame)))))

;; The operator first, then the operands from left to right, then the call.
(define (analyze-application x scope env)
  (let ((operator (analyze x scope env))
        (operands (analyze-operands (cdr x) scope env)))
    (case (length operands)
      ((0) (lambda (frame)
             (let ((f (operator frame)))
               (%note x)
               (f))))
      ((1) (let ((a (car operands)))
             (lambda (frame)
               (let* ((f (operator frame)) (a (a frame)))
                 (%note x)
                 (f a)))))
      ((2) (let ((a (car operands)) (b (cadr operands)))
             (lambda (frame)
               (let* ((f (operator frame)) (a (a frame)) (b (b frame)))
                 (%note x)
                 (f a b)))))
      ((3) (let ((a (car operands)) (b (cadr operands)) (c (caddr operands)))
             (lambda (frame)
               (let* ((f (operator frame)) (a (a frame)) (b (b frame)) (c (c frame)))
                 (%note x)
                 (f a b c)))))
      (else
       (lambda (frame)
         (let* ((f (operator frame)) (arguments (values-of operands frame)))
           (%note x)
           (apply f arguments)))))))

(define (analyze-operands places scope env)
  (if (null? places)
      '()
      (let ((operand (analyze places scope env)))
        (cons operand (analyze-operands (cdr places) scope env)))))

(define (values-of procedures frame)
  (if (null? procedures)
      '()
      (let ((value ((car procedures) frame)))
        (cons value (values-of (cdr procedures) frame)))))

(define (proper formals)
  (cond ((pair? formals) (cons (car formals) (proper (cdr formals))))
        ((null? formals) '())
        (else (list formals))))

(define (same-length? a b)
  (cond ((null? a) (null? b))
        ((pair? a) (and (pair? b) (same-length? (cdr a) (cdr b))))
        (else #f)))
