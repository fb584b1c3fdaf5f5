;; Hares and lynxes (Lotka and Volterra): a fourth-order Runge-Kutta step, followed by recursion,
;; and a chart of how many there are.

(params (birth positive 1.0)       ; hares born per hare
        (hunt positive 0.1)        ; hares caught per hare and lynx
        (growth positive 0.075)    ; lynxes raised per hare caught
        (death positive 1.5))      ; lynxes dying per lynx

;; A state is a list: hares, lynxes. So is its rate of change.
(define (rate state)
  (let ((hares (car state)) (lynxes (cadr state)))
    (list (- (* birth hares) (* hunt hares lynxes))
          (- (* growth hares lynxes) (* death lynxes)))))

(define (move state h slope)
  (map (lambda (x dx) (+ x (* h dx))) state slope))

(define (step state h)
  (let* ((k1 (rate state))
         (k2 (rate (move state (/ h 2) k1)))
         (k3 (rate (move state (/ h 2) k2)))
         (k4 (rate (move state h k3))))
    (move state (/ h 6) (map (lambda (a b c d) (+ a b b c c d)) k1 k2 k3 k4))))

(define (after state steps h)
  (if (= steps 0) state (after (step state h) (- steps 1) h)))

(define (column x) (exact (round x)))

(define (bar hares lynxes)
  (let loop ((i 1) (line '()))
    (if (> i (max (column hares) (column lynxes)))
        (list->string (reverse line))
        (loop (+ i 1)
              (cons (cond ((= i (column hares)) #\o)
                          ((= i (column lynxes)) #\*)
                          ((< i (column hares)) #\.)
                          (else #\space))
                    line)))))

(define (chart state time end)
  (when (<= time end)
    (display (if (< time 10) " " ""))
    (display time)
    (display " |")
    (display (bar (car state) (cadr state)))
    (newline)
    (chart (after state 10 0.05) (+ time 0.5) end)))

(display "time   o hares, * lynxes")
(newline)
(chart '(10.0 5.0) 0.0 12.0)

;; The value of the program: hares and lynxes at the end.
(after '(10.0 5.0) 240 0.05)
