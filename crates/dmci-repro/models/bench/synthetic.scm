;; A generator: it prints a program of random operations, written as one let* over 16 parameters.
;; Each operation takes two of the last 200 values (one time in ten, of all values) and adds,
;; subtracts or multiplies them, or applies a function to one of them; products that could leave
;; [-10, 10] are scaled down. The program's value is the mean of its last 50 values.
;; Input: operations (20000). The seed of the run chooses the program (7).
(define (name prefix i) (string->symbol (string-append prefix (number->string i))))

;; What is known of the values so far: name and interval of each, the newest last.
(define names (make-vector (+ operations 16)))
(define lows (make-vector (+ operations 16)))
(define highs (make-vector (+ operations 16)))
(define known 0)
(define bindings '())
(define spent 0)

(define (known! name low high)
  (vector-set! names known name)
  (vector-set! lows known low)
  (vector-set! highs known high)
  (set! known (+ known 1)))

(define (bind! form cost low high)
  (let ((new (name "v" (- known 16))))
    (set! bindings (cons (list new form) bindings))
    (set! spent (+ spent cost))
    (known! new low high)))

(define (pick)
  (if (or (< known 200) (< (random-real) 0.1))
      (random known)
      (+ (- known 200) (random 200))))

(define (low i) (vector-ref lows i))
(define (high i) (vector-ref highs i))
(define (size i) (max (abs (low i)) (abs (high i))))

;; A product that could be large goes to a name that nothing else uses.
(define (product! i j)
  (let ((corners (list (* (low i) (low j)) (* (low i) (high j)) (* (high i) (low j)) (* (high i) (high j))))
        (form `(* ,(vector-ref names i) ,(vector-ref names j))))
    (if (> (* (size i) (size j)) 10)
        (let ((large (name "p" (- known 16))))
          (set! bindings (cons (list large form) bindings))
          (bind! `(/ ,large (sqrt (+ 1 (* ,large ,large)))) 5 -1.0 1.0))
        (bind! form 1 (apply min corners) (apply max corners)))))

(define (function! i)
  (let ((v (vector-ref names i)))
    (case (random 4)
      ((0) (bind! `(sin ,v) 1 -1.0 1.0))
      ((1) (bind! `(tanh ,v) 1 -1.0 1.0))
      ((2) (bind! `(exp (- (* ,v ,v))) 3 0.0 1.0))
      ((3) (bind! `(sqrt (+ 1 (* ,v ,v))) 3 1.0 (+ 1 (size i)))))))

(define (operation!)
  (let* ((kind (random-real)) (i (pick)) (j (pick)) (a (vector-ref names i)) (b (vector-ref names j)))
    (cond ((< kind 0.3) (bind! `(+ ,a ,b) 1 (+ (low i) (low j)) (+ (high i) (high j))))
          ((< kind 0.6) (bind! `(- ,a ,b) 1 (- (low i) (high j)) (- (high i) (low j))))
          ((< kind 0.9) (product! i j))
          (else (function! i)))))

(define parameters
  (list-tabulate 16 (lambda (i)
    (known! (name "x" i) -1.0 1.0)
    (list (name "x" i) 'free (- (* 2 (random-real)) 1)))))

(let fill () (when (< spent operations) (operation!) (fill)))

(write `(params ,@parameters))
(newline)
(write `(let* ,(reverse bindings)
          (/ (+ ,@(map (lambda (i) (vector-ref names (- known 1 i))) (iota 50))) 50)))
(newline)
