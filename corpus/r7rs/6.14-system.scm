;; R7RS section 6.14: the part of the system interface that needs no files.

(test "features is a list of symbols" (#t #t) (let ((f (features))) (list (list? f) (symbol? (car f)))))
(test "features contains r7rs" #t (pair? (memq 'r7rs (features))))
(test "current-jiffy is an exact integer" #t (exact-integer? (current-jiffy)))
(test "current-jiffy does not go back" #t (let* ((a (current-jiffy)) (b (current-jiffy))) (<= a b)))
(test "jiffies-per-second is a positive exact integer" #t (let ((j (jiffies-per-second))) (and (exact-integer? j) (> j 0))))
(test "current-second is a real after the year 2020" #t (> (current-second) 1577836800))
