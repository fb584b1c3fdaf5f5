;;; Ports and printing: the current ports are parameters; the rest fills them in.

(define current-output-port (make-parameter (%console-port)))
(define current-error-port (make-parameter (current-output-port)))
(define current-input-port (make-parameter (open-input-string "")))
(define (trace-output-port) (current-output-port))
(define (notification-output-port) (current-output-port))

(define display
  (case-lambda
    ((object) (%display object (current-output-port)))
    ((object port) (%display object (%output port)))))

(define write
  (case-lambda
    ((object) (%write object (current-output-port)))
    ((object port) (%write object (%output port)))))

(define write-simple write)

(define write-shared
  (case-lambda
    ((object) (%write-shared object (current-output-port)))
    ((object port) (%write-shared object (%output port)))))

(define newline
  (case-lambda
    (() (%newline (current-output-port)))
    ((port) (%newline (%output port)))))

(define fresh-line
  (case-lambda
    (() (%fresh-line (current-output-port)))
    ((port) (%fresh-line (%output port)))))

(define write-char
  (case-lambda
    ((char) (%write-char char (current-output-port)))
    ((char port) (%write-char char (%output port)))))

(define write-string
  (case-lambda
    ((string) (%write-string string (current-output-port)))
    ((string port . range) (apply %write-string string (%output port) range))))

(define write-u8
  (case-lambda
    ((byte) (%write-u8 byte (current-output-port)))
    ((byte port) (%write-u8 byte port))))

(define write-bytevector
  (case-lambda
    ((bytes) (%write-bytevector bytes (current-output-port)))
    ((bytes port . range) (apply %write-bytevector bytes port range))))

;; #t is the current port, as in Guile and MIT Scheme.
(define (%output port)
  (if (eq? port #t) (current-output-port) port))

(define (write-line object . port)
  (apply write object port)
  (apply newline port))

(define pp write-line)
(define pretty-print write-line)

(define (displayln object . port)
  (apply display object port)
  (apply newline port))

(define (flush-output . port) (void))
(define flush-output-port flush-output)
(define force-output flush-output)

;;; Reading

(define read
  (case-lambda (() (%read (current-input-port))) ((port) (%read port))))

(define read-char
  (case-lambda (() (%read-char (current-input-port))) ((port) (%read-char port))))

(define peek-char
  (case-lambda (() (%peek-char (current-input-port))) ((port) (%peek-char port))))

(define char-ready?
  (case-lambda (() (%char-ready? (current-input-port))) ((port) (%char-ready? port))))

(define read-line
  (case-lambda (() (%read-line (current-input-port))) ((port) (%read-line port))))

(define read-string
  (case-lambda
    ((n) (%read-string n (current-input-port)))
    ((n port) (if (port? n) (%read-string port n) (%read-string n port)))))

(define read-u8
  (case-lambda (() (%read-u8 (current-input-port))) ((port) (%read-u8 port))))

(define peek-u8
  (case-lambda (() (%peek-u8 (current-input-port))) ((port) (%peek-u8 port))))

(define u8-ready?
  (case-lambda (() (%u8-ready? (current-input-port))) ((port) (%u8-ready? port))))

(define read-bytevector
  (case-lambda
    ((n) (%read-bytevector n (current-input-port)))
    ((n port) (%read-bytevector n port))))

(define read-bytevector!
  (case-lambda
    ((to) (read-bytevector! to (current-input-port)))
    ((to port) (read-bytevector! to port 0))
    ((to port start) (read-bytevector! to port start (bytevector-length to)))
    ((to port start end)
     (let ((bytes (%read-bytevector (- end start) port)))
       (if (eof-object? bytes)
           bytes
           (begin
             (bytevector-copy! to start bytes)
             (bytevector-length bytes)))))))

;;; String ports

(define (call-with-port port f)
  (let ((result (f port)))
    (close-port port)
    result))

(define (call-with-output-string f)
  (let ((port (open-output-string)))
    (f port)
    (get-output-string port)))

(define (with-output-to-string . thunk)
  (let ((port (open-output-string)))
    (if (pair? thunk)
        (%parameterize (list (cons current-output-port port)) (car thunk)))
    (get-output-string port)))

(define (call-with-input-string string f) (f (open-input-string string)))

(define (with-input-from-string string thunk)
  (%parameterize (list (cons current-input-port (open-input-string string))) thunk))

;; (format #f control argument ...) gives a string, #t or a port prints it; the destination may be
;; left out.
(define (format destination . arguments)
  (cond ((string? destination) (apply %format destination arguments))
        ((null? arguments) (%wrong-type 'format "a control string" destination))
        ((not destination) (apply %format arguments))
        (else (%write-string (apply %format arguments) (%output destination)))))
