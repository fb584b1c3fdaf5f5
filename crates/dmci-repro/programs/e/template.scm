;; Which operators made the data? a op1(x, op2(x)), each operator a soft choice between eight. The value is the
;; loss of one sample: the squared error of the value plus that of its derivative by x.
;; Inputs: x, y, slope and tau, the temperature; parameters: a, w1 and w2, lists of eight logits.
(define tiny 0.001)

(define inner
  (list (lambda (x) (* 2.0 x))
        (lambda (x) (- x))
        (lambda (x) (* x x))
        (lambda (x) (/ 1.0 (+ (abs x) tiny)))
        sin
        cos
        exp
        (lambda (x) (log (+ (abs x) tiny)))))

(define outer
  (list (lambda (x u) (+ x u))
        (lambda (x u) (- x u))
        (lambda (x u) (* x u))
        (lambda (x u) (/ x (+ (abs u) tiny)))
        (lambda (x u) (sin u))
        (lambda (x u) (cos u))
        (lambda (x u) (exp u))
        (lambda (x u) (log (+ (abs u) tiny)))))

(define (f x) (* a ((soft-choice outer w1 tau) x ((soft-choice inner w2 tau) x))))

(+ (square (- (f x) y)) (square (- (derivative f x) slope)))
