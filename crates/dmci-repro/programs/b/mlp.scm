;; Two hidden layers of tanh units with a linear output, fitted as any other program: the sum of squared errors
;; over all rows. Inputs: X (rows x inputs), y (rows) and ones (rows); parameters: weights and biases, tensors
;; whose starts are drawn as torch draws those of nn.Linear.
(define (layer x weights bias) (+ (matmul x (transpose weights)) (outer ones bias)))
(define hidden (tanh (layer (tanh (layer X w1 b1)) w2 b2)))
(define errors (- (+ (matvec hidden w3) (scale b3 ones)) y))

(dot errors errors)
