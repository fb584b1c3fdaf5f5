;; Rows of standard normal numbers (Box and Muller), from the seed of the run: data for lim.scm.
;; Inputs: rows, columns.
(define (normal)
  ;; 1 - u is never 0, whatever the draw.
  (let* ((u (random-real)) (v (random-real)))
    (* (sqrt (* -2 (log (- 1 u)))) (cos (* 2 3.141592653589793 v)))))

(list-tabulate rows (lambda (row) (list-tabulate columns (lambda (column) (normal)))))
