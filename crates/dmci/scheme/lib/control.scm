;;; Continuations, dynamic-wind, exceptions, parameters, promises.
;;;
;;; The VM keeps two registers that its raw continuations save and restore: the handlers and the
;;; winders, both lists with the innermost first. A winder is #(before after handlers): its thunks
;;; run with the handlers of the dynamic-wind that made it.

(define (call-with-values producer consumer)
  (apply consumer (%values->list (producer))))

(define (dynamic-wind before thunk after)
  (before)
  (let ((outer (%winders)))
    (%set-winders! (cons (vector before after (%handlers)) outer))
    (let ((result (thunk)))
      (%set-winders! outer)
      (after)
      result)))

(define (call/cc receiver)
  (%call/cc
   (lambda (k)
     (let ((winders (%winders)))
       (receiver (lambda results
                   (%rewind winders)
                   (apply k results)))))))

(define call-with-current-continuation call/cc)
(define call-with-escape-continuation call/cc)

;; Leaves and enters winders until `target` are the active ones.
(define (%rewind target)
  (let ((here (%winders)))
    (if (not (eq? here target))
        (let ((base (%common-tail here target)))
          (%leave here base)
          (%enter target base '())))))

(define (%common-tail a b)
  (let ((extra (- (length a) (length b))))
    (let next ((a (if (> extra 0) (list-tail a extra) a))
               (b (if (< extra 0) (list-tail b (- extra)) b)))
      (if (eq? a b) a (next (cdr a) (cdr b))))))

(define (%leave winders base)
  (if (not (eq? winders base))
      (let ((winder (car winders)))
        (%set-winders! (cdr winders))
        (%set-handlers! (vector-ref winder 2))
        ((vector-ref winder 1))
        (%leave (cdr winders) base))))

(define (%enter winders base path)
  (if (not (eq? winders base))
      (%enter (cdr winders) base (cons winders path))
      (for-each (lambda (winders)
                  (let ((winder (car winders)))
                    (%set-handlers! (vector-ref winder 2))
                    ((vector-ref winder 0))
                    (%set-winders! winders)))
                path)))

;;; Exceptions

(define (with-exception-handler handler thunk)
  (if (not (procedure? handler))
      (%wrong-type 'with-exception-handler "a handler procedure" handler))
  (let ((outer (%handlers)))
    (%set-handlers! (cons handler outer))
    (let ((result (thunk)))
      (%set-handlers! outer)
      result)))

(define (raise object)
  (let ((handlers (%handlers)))
    (if (null? handlers) (%abort object))
    (%set-handlers! (cdr handlers))
    ((car handlers) object)
    (%handler-returned object)))

(define (raise-continuable object)
  (let ((handlers (%handlers)))
    (if (null? handlers) (%abort object))
    (%set-handlers! (cdr handlers))
    (let ((result ((car handlers) object)))
      (%set-handlers! handlers)
      result)))

;; What the VM calls for an error in a primitive or an instruction.
(define (%raise-error condition) (raise condition))

(define (error message . irritants)
  (raise (%make-condition message irritants (%here))))

(define (assertion-violation who message . irritants)
  (raise (%make-condition (if who (%format "~a: ~a" who message) message) irritants (%here))))

;; The outer procedure call runs whatever comes back in the dynamic environment of the guard: the
;; result of the body, or the clauses. `reraise` goes back to where the condition was raised.
(define (%guard body clauses)
  ((call/cc
    (lambda (leave)
      (with-exception-handler
       (lambda (condition)
         ((call/cc
           (lambda (return)
             (leave
              (lambda ()
                (clauses condition
                         (lambda ()
                           (return (lambda () (raise-continuable condition)))))))))))
       (lambda ()
         (let ((result (body)))
           (lambda () result))))))))

(define error? error-object?)
(define condition? error-object?)
(define error-message-string condition/report-string)

(define (access-condition condition field)
  (case field
    ((message) (error-object-message condition))
    ((irritants) (error-object-irritants condition))
    (else (%wrong-type 'access-condition "the field name message or irritants" field))))

(define error-message error-object-message)
(define error-irritants error-object-irritants)

;;; Parameters: procedures over a record that they give out to those who know the key.

(define %parameter-type (%make-record-type 'parameter '(value converter)))
(define %parameter-key (%record %parameter-type #f #f))

(define (%parameter-value state) (%record-ref state %parameter-type 0 'parameterize))
(define (%parameter-converter state) (%record-ref state %parameter-type 1 'parameterize))
(define (%set-parameter-value! state value) (%record-set! state %parameter-type 0 value 'parameterize))

(define make-parameter
  (case-lambda
    ((value) (make-parameter value (lambda (x) x)))
    ((value converter)
     (let ((state (%record %parameter-type (converter value) converter)))
       (case-lambda
         (() (%parameter-value state))
         ((new)
          (if (eq? new %parameter-key)
              state
              (%set-parameter-value! state (converter new)))))))))

(define make-settable-parameter make-parameter)
(define make-unsettable-parameter make-parameter)

(define (%parameter-state parameter)
  (let ((state (and (procedure? parameter) (parameter %parameter-key))))
    (if (%record? state %parameter-type)
        state
        (%wrong-type 'parameterize "a parameter" parameter))))

(define (%parameterize bindings thunk)
  (let* ((states (map (lambda (binding) (%parameter-state (car binding))) bindings))
         (others (map (lambda (state binding) ((%parameter-converter state) (cdr binding)))
                      states bindings))
         (swap! (lambda ()
                  (set! others
                        (map (lambda (state other)
                               (let ((value (%parameter-value state)))
                                 (%set-parameter-value! state other)
                                 value))
                             states others)))))
    (dynamic-wind swap! thunk swap!)))

;;; Promises (R7RS 4.2.5): chains of delay-force run in constant space.

(define (force object)
  (if (promise? object)
      (let run ()
        (if (%promise-done? object)
            (%promise-content object)
            (let ((next ((%promise-content object))))
              (if (not (%promise-done? object))
                  (%promise-share! object next))
              (run))))
      object))

(define (features) (list 'r7rs 'exact-closed 'ieee-float 'full-unicode 'dmci))
