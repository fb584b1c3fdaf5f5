(params (a0 free 1.0) (a1 free -0.5) (a2 free 0.3) (a3 free -0.1))
(letrec ((horner (lambda (cs acc)
                   (if (null? cs)
                       acc
                       (horner (cdr cs) (+ (car cs) (* x acc)))))))
  (horner (list a3 a2 a1 a0) 0.0))
