;; P3, recursion that is not a tail call, three deep: y = 3 alpha x. Input: x.
(params (alpha free 2.0))

(define (p x n)
  (if (= n 0)
      0
      (+ (* alpha x) (p x (- n 1)))))

(p x 3)
