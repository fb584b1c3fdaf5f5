;; Agreement of a computed value with an expected datum, shared by the peer drivers.
;; Numbers agree when they have the same exactness and differ by at most 1e-12
;; relatively (NaN agrees with NaN); everything else as by `equal?`.
(define (same-number? a b)
  (cond ((and (exact? a) (exact? b)) (= a b))
        ((or (exact? a) (exact? b)) #f)
        ((or (not (real? a)) (not (real? b))) (= a b))
        ((or (not (= a a)) (not (= b b))) (and (not (= a a)) (not (= b b))))
        ((= a b) #t)
        ((or (infinite? a) (infinite? b)) #f)
        (else (<= (abs (- a b)) (* 1e-12 (max (abs a) (abs b)))))))

(define (same? a b)
  (cond ((and (number? a) (number? b)) (same-number? a b))
        ((and (pair? a) (pair? b))
         (and (same? (car a) (car b)) (same? (cdr a) (cdr b))))
        ((and (vector? a) (vector? b))
         (same? (vector->list a) (vector->list b)))
        (else (equal? a b))))

;; One result per line: the mark @@, a verdict (P or F), the name, the detail.
(define (report verdict name detail)
  (newline)
  (display "@@") (display verdict)
  (write-char #\tab) (display name)
  (write-char #\tab) (display (one-line detail))
  (newline)
  (flush-output-port (current-output-port)))

(define (one-line text)
  (let ((n (min 160 (string-length text))))
    (string-map (lambda (c) (if (memv c '(#\newline #\tab #\return)) #\space c))
                (substring text 0 n))))

(define (written x)
  (let ((port (open-output-string)))
    (write x port)
    (get-output-string port)))

;; `attempt` runs the program in a fresh environment and returns either
;; (value . v) or (error . description); it belongs to the peer.
(define (run-form form)
  (let* ((kind (car form)) (name (cadr form)))
    (if (eq? kind 'test)
        (let ((outcome (attempt (cdddr form))) (expected (caddr form)))
          (cond ((eq? (car outcome) 'error)
                 (report "F" name (string-append "error: " (cdr outcome))))
                ((same? expected (cdr outcome)) (report "P" name ""))
                (else
                 (report "F" name (string-append "got " (written (cdr outcome)))))))
        (let ((outcome (attempt (cddr form))))
          (if (eq? (car outcome) 'error)
              (report "P" name "")
              (report "F" name (string-append "no error, got " (written (cdr outcome)))))))))

;; The first `skip` tests are passed over: they ran before the peer crashed.
(define (run-file path skip)
  (let ((port (open-input-file path)))
    (let loop ((form (read port)) (skip skip))
      (if (not (eof-object? form))
          (begin
            (if (= skip 0) (run-form form))
            (loop (read port) (max 0 (- skip 1))))))))
