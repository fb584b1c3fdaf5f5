; Serves the benchmark: reads "load NAME FILE" and "run NAME", answers "ready", or seconds and value.
; FILE is a module (bench NAME) that defines `work`. It is compiled, then loaded, before anything is timed.
(use-modules (system base compile) (ice-9 rdelim))

(define (serve)
  (let ((request (read)))
    (unless (eof-object? request)
      (let* ((name (read)) (module `(bench ,name)))
        (case request
          ((load)
           (load-compiled (compile-file (symbol->string (read))))
           (display "ready"))
          ((run)
           (let* ((work (module-ref (resolve-module module #:ensure #f) 'work))
                  (start (get-internal-real-time))
                  (value (work))
                  (end (get-internal-real-time)))
             (display (exact->inexact (/ (- end start) internal-time-units-per-second)))
             (display " ")
             (write value))))
        (newline)
        (force-output))
      (serve))))
(serve)
