;; An operator that is fitted to its own forecasts at 3, 6, 9 and 12 months, near the Green function G.
;; Squared errors come from moments of the training months: for every lead, now is the mean of x x', ahead that of
;; x[t + lead] x[t]'; weights divide by the errors of the Green function; w is the index of a unit of each component,
;; and the index weighs lambda times as much as all components together.
(define (state-error A now ahead)
  (- (sum (* (matmul A now) A)) (* 2.0 (sum (* A ahead)))))
(define (index-error A now ahead)
  (let ((v (matvec (transpose A) w)))
    (- (dot v (matvec now v)) (* 2.0 (dot v (matvec (transpose ahead) w))))))
(define (lead-error A now ahead weight index-weight)
  (+ (* weight (state-error A now ahead)) (* lambda index-weight (index-error A now ahead))))
(let* ((F3 (matmul F (matmul F F)))
       (F6 (matmul F3 F3))
       (F9 (matmul F6 F3))
       (F12 (matmul F6 F6))
       (apart (- F G)))
  (+ (lead-error F3 now3 ahead3 (ref weights 0) (ref index-weights 0))
     (lead-error F6 now6 ahead6 (ref weights 1) (ref index-weights 1))
     (lead-error F9 now9 ahead9 (ref weights 2) (ref index-weights 2))
     (lead-error F12 now12 ahead12 (ref weights 3) (ref index-weights 3))
     (/ (sum (* apart apart)) (* 2.0 tau tau))))
