;; Guile driver: guile --r7rs -q --no-auto-compile -s guile.scm SECTION-FILE SKIP
;; Each test gets a fresh module that sees R7RS first, then SRFI and Guile's own names.
(import (scheme base) (scheme read) (scheme write) (scheme inexact) (scheme file)
        (guile))

(print-enable 'r7rs-symbols)

;; Later entries win; the names of R7RS-small win over all.
(define libraries
  '((guile) (rnrs lists) (rnrs base) (rnrs sorting) (ice-9 receive) (srfi srfi-69) (srfi srfi-1)
    (scheme r5rs)
    (scheme case-lambda) (scheme char) (scheme complex) (scheme cxr) (scheme eval)
    (scheme inexact) (scheme lazy) (scheme process-context) (scheme read)
    (scheme repl) (scheme time) (scheme write) (scheme base)))

;; R6RS names that clash with a listed library are not wanted.
(define only
  '(((rnrs lists) fold-left) ((rnrs base) assert) ((rnrs sorting) list-sort)
    ((scheme r5rs) scheme-report-environment null-environment exact->inexact
                   inexact->exact)))

(define base-names (make-module))
(set-module-kind! base-names 'interface)
(set-module-name! base-names '(conformance base))
(for-each
 (lambda (library)
   (let ((wanted (assoc library only)))
     (define (add-from! interface)
       (for-each add-from! (reverse (module-uses interface)))
       (module-for-each
        (lambda (name variable)
          (if (or (not wanted) (memq name (cdr wanted)))
              (module-add! base-names name variable)))
        interface))
     (add-from! (resolve-interface library))))
 libraries)

(define (fresh-module)
  (let ((module (make-fresh-user-module)))
    (set-module-uses! module (list base-names))
    module))

(define (describe e)
  (if (exception? e)
      (call-with-output-string
       (lambda (port)
         (display (exception-kind e) port)
         (write-char #\space port)
         (write (exception-args e) port)))
      (call-with-output-string (lambda (port) (write e port)))))

(define (attempt body)
  (let ((module (fresh-module)))
    (with-exception-handler
     (lambda (e) (cons 'error (describe e)))
     (lambda ()
       (cons 'value
             (save-module-excursion
              (lambda ()
                (set-current-module module)
                (let loop ((forms body))
                  (let ((value (eval (car forms) module)))
                    (if (null? (cdr forms)) value (loop (cdr forms)))))))))
     #:unwind? #t)))

(define here (dirname (car (command-line))))
(load (string-append (canonicalize-path here) "/same.scm"))
(run-file (cadr (command-line)) (string->number (caddr (command-line))))
