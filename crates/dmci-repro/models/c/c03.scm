;; C03, a decay chain: A' = -lambda1 A, B' = lambda1 A - lambda2 B; 25 Euler steps of 0.1
;; from (A0, 0); B at the end. Input: A0.
(params (lambda1 free 0.3)
        (lambda2 free 0.1))

(define h 0.1)

;; A state is a list: A, B.
(define (step state)
  (let ((A (first state)) (B (second state)))
    (list (- A (* h lambda1 A))
          (+ B (* h (- (* lambda1 A) (* lambda2 B)))))))

(second (fold-left (lambda (state i) (step state)) (list A0 0.0) (iota 25)))
