; Makes, filters, maps, reverses and sums lists of ten thousand integers: allocation and collection.
(define (range n) (let loop ((i (- n 1)) (l '())) (if (< i 0) l (loop (- i 1) (cons i l)))))
(define (keep p l)
  (cond ((null? l) '()) ((p (car l)) (cons (car l) (keep p (cdr l)))) (else (keep p (cdr l)))))
(define (total l) (let loop ((l l) (s 0)) (if (null? l) s (loop (cdr l) (+ s (car l))))))
(define (once n)
  (total (map (lambda (x) (* x 3)) (keep even? (reverse (append (range n) (range n)))))))
(define (repeat times n) (let loop ((i 0) (s 0)) (if (= i times) s (loop (+ i 1) (+ s (once n))))))
(repeat 30 10000)
