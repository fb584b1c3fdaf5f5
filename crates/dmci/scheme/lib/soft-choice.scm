;;; Soft choices: a blend of all options in place of a choice of one, so that what decides the choice
;;; has a derivative. Temperature, hardness and noise are settings of the evaluation.

;; (soft-choice options logits): the sum of the options, each times its share; options that are
;; procedures give a procedure whose results are blended. An option of share 0 counts for nothing,
;; whatever it is. A third argument is a temperature for this choice alone.
(define soft-choice
  (case-lambda
    ((options logits)
     (%soft-choice options logits #f))
    ((options logits temperature)
     (if (not (and (real? temperature) (> temperature 0) (< temperature +inf.0)))
         (%wrong-type 'soft-choice "a positive temperature" temperature))
     (%soft-choice options logits temperature))))

(define (%soft-choice options logits temperature)
  (let* ((items (%soft-options options))
         (shares (%soft-shares (%soft-logits logits (length items)) (or temperature (%soft-temperature)))))
    (if (procedure? (car items))
        (lambda arguments
          (%soft-blend (map (lambda (option) (apply option arguments)) items) shares))
        (%soft-blend items shares))))

;; The items of a list, a vector or a tensor.
(define (%soft-items x)
  (cond ((vector? x) (vector->list x))
        ((tensor? x) (tensor->list x))
        (else x)))

(define (%soft-options options)
  (let ((items (%soft-items options)))
    (if (not (and (list? items) (pair? items) (pair? (cdr items))))
        (%wrong-type 'soft-choice "a list or vector of at least 2 options" options))
    (if (not (or (every %leaf? items) (every procedure? items)))
        (%wrong-type 'soft-choice "options that are all numbers or all procedures" options))
    items))

(define (%soft-logits logits count)
  (let ((items (%soft-items logits)))
    (if (not (and (list? items) (every number? items)))
        (%wrong-type 'soft-choice "a list or vector of numbers as logits" logits))
    (if (not (= (length items) count))
        (%wrong-type 'soft-choice
                     (string-append (number->string count) " logits, one for each option")
                     logits))
    items))

;; The softmax of the logits over the temperature. Shifting all by the largest changes no share and
;; keeps exp in range.
(define (%soft-shares logits temperature)
  (let* ((scaled (map (lambda (logit) (/ (%soft-perturbed logit) temperature)) logits))
         (largest (stop-gradient (apply max scaled)))
         (parts (map (lambda (z) (exp (- z largest))) scaled))
         (sum (%soft-sum parts))
         (shares (map (lambda (part) (/ part sum)) parts)))
    (if (%soft-hard?)
        (map (lambda (one share) (%linear (stop-gradient one) 1.0 share)) (%one-hot scaled largest) shares)
        shares)))

(define (%soft-perturbed logit)
  (let ((noise (%gumbel)))
    (if noise (+ logit noise) logit)))

;; 1 for the first of the largest numbers, 0 for the others, without a decision.
(define (%one-hot numbers largest)
  (let loop ((numbers numbers) (left 1.0))
    (if (null? numbers)
        '()
        (let ((one (%select (= (car numbers) largest) left 0.0)))
          (cons one (loop (cdr numbers) (- left one)))))))

(define (%soft-blend items shares)
  (%soft-sum (map %weigh items shares)))

;; From left to right, one addition after the other.
(define (%soft-sum terms)
  (let loop ((sum (car terms)) (terms (cdr terms)))
    (if (null? terms) sum (loop (+ sum (car terms)) (cdr terms)))))
