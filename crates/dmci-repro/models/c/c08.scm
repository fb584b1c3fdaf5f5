;; C08, two averages in a row: u <- alpha x + (1 - alpha) u, then v <- beta u + (1 - beta) v with
;; the new u; v after 10 steps from 0, 0. Input: x.
(params (alpha free 0.3)
        (beta free 0.5))

(define (average weight) (lambda (new old) (+ (* weight new) (* (- 1 weight) old))))
(define fast (average alpha))
(define slow (average beta))

(let loop ((n 10) (u 0.0) (v 0.0))
  (if (= n 0)
      v
      (let ((u (fast x u)))
        (loop (- n 1) u (slow u v)))))
