;; MIT Scheme driver: mit-scheme --quiet --no-init-file --load same.scm mit.scm
;; --eval '(run-file "SECTION-FILE" SKIP)'. Each test gets a fresh top-level environment.
;; Its reader folds case unless told otherwise; R7RS does not.
;; `import` is a form of MIT programs, not of `eval`: at the head of a test it is dropped,
;; which is what importing libraries whose names are all visible amounts to.
(define (without-imports body)
  (if (and (pair? (car body)) (eq? (caar body) 'import))
      (without-imports (cdr body))
      body))

(param:reader-fold-case? #f)

(define (describe e)
  (if (condition? e)
      (condition/report-string e)
      (call-with-output-string (lambda (port) (write e port)))))

(define (attempt body)
  (let ((environment (extend-top-level-environment system-global-environment)))
    (call-with-current-continuation
     (lambda (k)
       (with-exception-handler
        (lambda (e) (k (cons 'error (describe e))))
        (lambda ()
          (let loop ((forms (without-imports body)))
            (let ((value (eval (car forms) environment)))
              (if (null? (cdr forms))
                  (cons 'value value)
                  (loop (cdr forms)))))))))))
