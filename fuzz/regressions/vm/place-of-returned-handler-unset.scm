(with-exception-handler (lambda (e) 7) (lambda () (letrec ((a b) (b 1)) a)))
