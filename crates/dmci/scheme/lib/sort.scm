;;; Sorting: a stable merge sort that takes lists and vectors, and its arguments in either order.

;; Merges runs of width 1, 2, 4, ... back and forth between `v` and a second vector; the result is one
;; of the two. Of equal items the left one comes first.
(define (%merge-sort v less?)
  (let ((n (vector-length v)))
    (let pass ((width 1) (from v) (to (make-vector (vector-length v) #f)))
      (if (>= width n)
          from
          (let run ((start 0))
            (if (>= start n)
                (pass (* 2 width) to from)
                (let* ((middle (min (+ start width) n))
                       (end (min (+ middle width) n)))
                  (let merge ((left start) (right middle) (at start))
                    (cond ((= at end) (run end))
                          ((and (< left middle)
                                (or (= right end)
                                    (not (less? (vector-ref from right) (vector-ref from left)))))
                           (vector-set! to at (vector-ref from left))
                           (merge (+ left 1) right (+ at 1)))
                          (else
                           (vector-set! to at (vector-ref from right))
                           (merge left (+ right 1) (+ at 1))))))))))))

;; Numbers on the tape are sorted by one operation, so that their order is no decision.
(define (%sort-vector v less?)
  (or (%sorted v less?) (%merge-sort v less?)))

(define (%sort who items less?)
  (cond ((procedure? items) (%sort who less? items))
        ((vector? items) (%sort-vector (vector-copy items) less?))
        ((list? items) (vector->list (%sort-vector (list->vector items) less?)))
        (else (%wrong-type who "a list or a vector" items))))

(define (sort items less?) (%sort 'sort items less?))
(define (list-sort less? items) (%sort 'list-sort items less?))
(define (vector-sort items less?) (%sort 'vector-sort items less?))
(define merge-sort sort)

(define (sort! items less?)
  (cond ((procedure? items) (sort! less? items))
        ((vector? items) (vector-copy! items 0 (%sort 'sort! items less?)) items)
        (else (%sort 'sort! items less?))))

(define vector-sort! sort!)
