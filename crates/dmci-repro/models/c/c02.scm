;; C02, SIR: s' = -beta s i, i' = beta s i - gamma i; 30 Euler steps of 0.1 from (S0, 0.01);
;; the susceptible at the end. Input: S0.
(params (beta free 0.5)
        (gamma free 0.1))

(define h 0.1)
(define (infections s i) (* beta s i))

(do ((n 0 (+ n 1))
     (s S0 (- s (* h (infections s i))))
     (i 0.01 (+ i (* h (- (infections s i) (* gamma i))))))
    ((= n 30) s))
