;; R7RS section 6.13: string ports and bytevector ports, read, write, display.

;; Input from strings
(test "read-char" (#\a #\b) (let* ((p (open-input-string "ab")) (x (read-char p)) (y (read-char p))) (list x y)))
(test "read-char at the end" #t (eof-object? (read-char (open-input-string ""))))
(test "read-char at the end stays there" (#t #t) (let* ((p (open-input-string "a")) (c (read-char p)) (x (read-char p)) (y (read-char p))) (list (eof-object? x) (eof-object? y))))
(test "peek-char does not consume" (#\a #\a #\b) (let* ((p (open-input-string "ab")) (x (peek-char p)) (y (read-char p)) (z (peek-char p))) (list x y z)))
(test "peek-char at the end" #t (eof-object? (peek-char (open-input-string ""))))
(test "read-char beyond ASCII" (#\λ #\x) (let* ((p (open-input-string "λx")) (a (read-char p)) (b (read-char p))) (list a b)))
(test "read-line" ("one" "two") (let* ((p (open-input-string "one\ntwo\n")) (a (read-line p)) (b (read-line p))) (list a b)))
(test "read-line without a final newline" ("one" "two" #t) (let* ((p (open-input-string "one\ntwo")) (a (read-line p)) (b (read-line p)) (c (read-line p))) (list a b (eof-object? c))))
(test "read-line of an empty line" ("" "x") (let* ((p (open-input-string "\nx")) (a (read-line p)) (b (read-line p))) (list a b)))
(test "read-string" ("abc" "de") (let* ((p (open-input-string "abcde")) (a (read-string 3 p)) (b (read-string 10 p))) (list a b)))
(test "read-string at the end" #t (eof-object? (read-string 3 (open-input-string ""))))
(test "char-ready? on a string port" #t (char-ready? (open-input-string "a")))
(test "mixed reading of one port" (#\a (b c) #\space "d") (let* ((p (open-input-string "a(b c) d")) (x (read-char p)) (y (read p)) (z (read-char p)) (w (read-line p))) (list x y z w)))
(test "read from a port given by parameterize" (1 2) (parameterize ((current-input-port (open-input-string "(1 2)"))) (read)))

;; read
(test "read data in sequence" (1 two "three" (4 . 5)) (let* ((p (open-input-string "1 two \"three\" (4 . 5)")) (a (read p)) (b (read p)) (c (read p)) (d (read p))) (list a b c d)))
(test "read at the end" #t (eof-object? (read (open-input-string "  ; nothing here"))))
(test "read skips comments" (a b) (read (open-input-string "; line\n#| block |# #;datum (a #;x b)")))
(test "read of a vector and a bytevector" (#(1 #t) #u8(1 2)) (let* ((p (open-input-string "#(1 #t) #u8(1 2)")) (a (read p)) (b (read p))) (list a b)))
(test "read of abbreviations" ((quote a) (quasiquote (b (unquote c) (unquote-splicing d)))) (let* ((p (open-input-string "'a `(b ,c ,@d)")) (a (read p)) (b (read p))) (list a b)))
(test "read of chars" (#\a #\space #\newline) (read (open-input-string "(#\\a #\\space #\\newline)")))
(test "read of numbers" (12 -3.5 255 1000.0) (read (open-input-string "(12 -3.5 #xff 1e3)")))
(test "read of nested lists" ((a (b (c))) ()) (read (open-input-string "((a (b (c))) ())")))
(test "read of a bar symbol" "a b" (symbol->string (read (open-input-string "|a b|"))))
(test "read of booleans" (#t #f #t #f) (read (open-input-string "(#t #f #true #false)")))
(test-error "read of a lone dot" (read (open-input-string "( . )")))

;; Output to strings
(test "write-char and write-string" "abc" (let ((p (open-output-string))) (write-char #\a p) (write-string "bc" p) (get-output-string p)))
(test "write-string with a range" ("cde" "cd") (list (let ((p (open-output-string))) (write-string "abcde" p 2) (get-output-string p)) (let ((p (open-output-string))) (write-string "abcde" p 2 4) (get-output-string p))))
(test "newline" "a\nb" (let ((p (open-output-string))) (write-char #\a p) (newline p) (write-char #\b p) (get-output-string p)))
(test "get-output-string of nothing" "" (get-output-string (open-output-string)))
(test "get-output-string does not reset" ("a" "ab") (let ((p (open-output-string))) (write-char #\a p) (let ((x (get-output-string p))) (write-char #\b p) (list x (get-output-string p)))))
(test "two output ports are independent" ("1" "2") (let ((p (open-output-string)) (q (open-output-string))) (write 1 p) (write 2 q) (list (get-output-string p) (get-output-string q))))
(test "output port given by parameterize" "hi 5" (let ((p (open-output-string))) (parameterize ((current-output-port p)) (display "hi ") (write 5)) (get-output-string p)))
(test "with-output-to-string" "x=1\n" (with-output-to-string (lambda () (display "x=") (display 1) (newline))))
(test "call-with-port" "(1 2)" (call-with-port (open-output-string) (lambda (p) (write '(1 2) p) (get-output-string p))))

;; write and display forms: each test writes a list of objects to strings
(test "write of numbers" ("12" "-7" "100000000000000000000") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(12 -7 100000000000000000000)))
(test "write of a string" ("\"abc\"" "\"\"") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '("abc" "")))
(test "write of a string with escapes" ("\"a\\\"b\"" "\"a\\\\b\"") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '("a\"b" "a\\b")))
(test "write of a newline in a string reads back" "a\nb\tc" (let ((p (open-output-string))) (write "a\nb\tc" p) (read (open-input-string (get-output-string p)))))
(test "display of a string" ("abc" "a\"b") (define (d x) (let ((p (open-output-string))) (display x p) (get-output-string p))) (map d '("abc" "a\"b")))
(test "write of chars" ("#\\a" "#\\space" "#\\newline" "#\\(") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#\a #\space #\newline #\()))
(test "write of more char names" ("#\\tab" "#\\null" "#\\delete" "#\\return") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#\tab #\null #\delete #\return))) ; guile: writes #\nul, which R7RS does not read
(test "write of alarm, backspace and escape chars" ("#\\alarm" "#\\backspace" "#\\escape") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#\alarm #\backspace #\escape))) ; guile: writes #\esc, which R7RS does not read
(test "display of chars" ("a" " ") (define (d x) (let ((p (open-output-string))) (display x p) (get-output-string p))) (map d '(#\a #\space)))
(test "write of symbols" ("abc" "+" "..." "->x") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(abc + ... ->x)))
(test "write of symbols that need bars" ("|a b|" "||") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(|a b| ||)))
(test "write of a symbol with upper case reads back" #t (let ((p (open-output-string))) (write 'Abc p) (eq? 'Abc (read (open-input-string (get-output-string p))))))
(test "write of a symbol that looks like a number" "|12|" (let ((p (open-output-string))) (write (string->symbol "12") p) (get-output-string p)))
(test "display of a symbol with a space" "a b" (let ((p (open-output-string))) (display '|a b| p) (get-output-string p))) ; guile: keeps the bars; mit: keeps the bars
(test "write of booleans and the empty list" ("#t" "#f" "()") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#t #f ())))
(test "write of lists" ("(1 2 3)" "(1 . 2)" "(1 2 . 3)" "((a) (b (c)))") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '((1 2 3) (1 . 2) (1 2 . 3) ((a) (b (c))))))
(test "write of vectors" ("#(1 2)" "#()" "#((a) #(b))") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#(1 2) #() #((a) #(b)))))
(test "write of bytevectors" ("#u8(1 255)" "#u8()") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(#u8(1 255) #u8())))
(test "write of strings and chars inside a list" "(\"a\" #\\b c)" (let ((p (open-output-string))) (write '("a" #\b c) p) (get-output-string p)))
(test "display of strings and chars inside a list" "(a b c)" (let ((p (open-output-string))) (display '("a" #\b c) p) (get-output-string p)))
(test "display of strings inside a vector" "#(a b)" (let ((p (open-output-string))) (display '#("a" #\b) p) (get-output-string p)))
(test "write of a quotation reads back" #t (let ((p (open-output-string))) (write ''a p) (equal? ''a (read (open-input-string (get-output-string p))))))
(test "write of special reals" ("+inf.0" "-inf.0" "+nan.0") (define (w x) (let ((p (open-output-string))) (write x p) (get-output-string p))) (map w '(+inf.0 -inf.0 +nan.0)))
(test "write of a real reads back the same" (#t #t #t) (map (lambda (x) (let ((p (open-output-string))) (write x p) (eqv? x (read (open-input-string (get-output-string p)))))) '(0.1 -1e-7 1e22)))
(test "write-simple" "(1 \"a\")" (let ((p (open-output-string))) (write-simple '(1 "a") p) (get-output-string p)))
(test "write-shared without sharing" "(1 2)" (let ((p (open-output-string))) (write-shared '(1 2) p) (get-output-string p)))
(test "write does not label data that is only shared" "((1) (1))" (let ((p (open-output-string)) (x (list 1))) (write (list x x) p) (get-output-string p)))

;; Ports
(test "eof-object" (#t #f #f) (map eof-object? (list (eof-object) '() #f)))
(test "port predicates" (#t #f #t #f) (let ((i (open-input-string "")) (o (open-output-string))) (list (input-port? i) (input-port? o) (output-port? o) (output-port? i))))
(test "port? and textual-port?" (#t #t #f) (let ((p (open-input-string ""))) (list (port? p) (textual-port? p) (port? "p"))))
(test "standard ports" (#t #t #t) (list (input-port? (current-input-port)) (output-port? (current-output-port)) (output-port? (current-error-port))))
(test "input-port-open? and close-port" (#t #f) (let* ((p (open-input-string "a")) (x (input-port-open? p))) (close-port p) (list x (input-port-open? p)))) ; mit: a string port stays open
(test "output-port-open? and close-output-port" (#t #f) (let* ((p (open-output-string)) (x (output-port-open? p))) (close-output-port p) (list x (output-port-open? p)))) ; mit: a string port stays open
(test-error "read-char from a closed port" (let ((p (open-input-string "a"))) (close-input-port p) (read-char p))) ; mit: a string port stays open
(test-error "read-char from an output port" (read-char (open-output-string)))
(test-error "write-char to an input port" (write-char #\a (open-input-string "a")))
(test "read-u8 and peek-u8" (1 2 2 #t) (let* ((p (open-input-bytevector #u8(1 2))) (a (read-u8 p)) (b (peek-u8 p)) (c (read-u8 p)) (d (read-u8 p))) (list a b c (eof-object? d))))
(test "write-u8 and write-bytevector" #u8(1 2 3) (let ((p (open-output-bytevector))) (write-u8 1 p) (write-bytevector #u8(2 3) p) (get-output-bytevector p)))
(test "read-bytevector" (#u8(1 2) #u8(3) #t) (let* ((p (open-input-bytevector #u8(1 2 3))) (a (read-bytevector 2 p)) (b (read-bytevector 5 p)) (c (read-bytevector 1 p))) (list a b (eof-object? c))))
(test "read-bytevector!" (2 #u8(0 1 2 0)) (let* ((b (make-bytevector 4 0)) (n (read-bytevector! b (open-input-bytevector #u8(1 2 3)) 1 3))) (list n b)))
(test "binary-port? and textual-port?" (#t #t #f) (list (binary-port? (open-input-bytevector #u8())) (textual-port? (open-input-string "")) (binary-port? 5)))
