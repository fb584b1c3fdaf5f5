; Serves the benchmark: reads "load NAME FILE" and "run NAME", answers "ready", or
; seconds on the clock, seconds of processor time, and the value.
; FILE is a module (bench NAME) that defines `work`. It is compiled, then loaded, before anything is timed.
(use-modules (system base compile) (ice-9 rdelim))

(define (seconds start end)
  (exact->inexact (/ (- end start) internal-time-units-per-second)))

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
                  (busy (get-internal-run-time))
                  (start (get-internal-real-time))
                  (value (work))
                  (end (get-internal-real-time)))
             (display (seconds start end))
             (display " ")
             (display (seconds busy (get-internal-run-time)))
             (display " ")
             (write value))))
        (newline)
        (force-output))
      (serve))))
(serve)
