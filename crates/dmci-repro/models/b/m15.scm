;; M15, Horner's rule along a list: y = a0 + x (a1 + x (a2 + x a3)). Input: x.
(params (a0 free 1.0)
        (a1 free -0.5)
        (a2 free 0.3)
        (a3 free -0.1))

(define (horner coefficients x)
  (if (null? coefficients)
      0
      (+ (car coefficients) (* x (horner (cdr coefficients) x)))))

(horner (list a0 a1 a2 a3) x)
