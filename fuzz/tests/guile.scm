;; guile --r7rs -q --no-auto-compile -s guile.scm FILE
;; FILE holds lists (VALUE-TEXT OUTPUT FORM ...): what dmci gave for the forms. For each of them we
;; answer `same`, or what we got, and a U+0001.
(import (scheme base) (scheme read) (scheme write) (scheme file) (guile))

(print-enable 'r7rs-symbols)

;; Later entries win. One interface with all names: no warnings about clashes.
(define libraries
  '((guile) (rnrs lists) (ice-9 receive) (srfi srfi-69) (srfi srfi-1)
    (scheme case-lambda) (scheme char) (scheme cxr) (scheme eval)
    (scheme inexact) (scheme lazy) (scheme read) (scheme repl) (scheme write) (scheme base)))

(define names (make-module))
(set-module-kind! names 'interface)
(for-each
 (lambda (library)
   (let add-from ((interface (resolve-interface library)))
     (for-each add-from (reverse (module-uses interface)))
     (module-for-each
      (lambda (name variable)
        (if (or (not (equal? library '(rnrs lists))) (eq? name 'fold-left))
            (module-add! names name variable)))
      interface)))
 libraries)

(define (fresh-module)
  (let ((module (make-fresh-user-module)))
    (set-module-uses! module (list names))
    (eval '(define (make-equal-hash-table) (make-hash-table equal?)) module)
    module))

(define (run forms)
  (let ((module (fresh-module)) (value #f))
    (save-module-excursion
     (lambda ()
       (set-current-module module)
       (for-each (lambda (form) (set! value (eval form module))) forms)))
    value))

;; Equal to the last bit; texts of reals differ between systems, so values are compared.
(define (same? a b)
  (cond ((pair? a) (and (pair? b) (same? (car a) (car b)) (same? (cdr a) (cdr b))))
        ((vector? a) (and (vector? b) (same? (vector->list a) (vector->list b))))
        (else (or (eqv? a b) (equal? a b)))))

(define (answer text expected-output forms)
  (let* ((value #f)
         (output
          (call-with-output-string
           (lambda (port)
             (parameterize ((current-output-port port))
               (set! value
                     (with-exception-handler
                      (lambda (e) (list 'error e))
                      (lambda () (run forms))
                      #:unwind? #t)))))))
    (if (and (string=? output expected-output)
             (same? value (call-with-input-string text read)))
        (display "same")
        (begin (display output) (display "|") (write value)))
    (display "\x1;")))

(call-with-input-file (cadr (command-line))
  (lambda (port)
    (let loop ()
      (let ((program (read port)))
        (unless (eof-object? program)
          (answer (car program) (cadr program) (cddr program))
          (loop))))))
