(let () (define (f n x) (if (<= n 0) (list 'f x) (g (- n 1) 5))) (define (g n x) (if (<= n 0) (list 'g x) (f (- n 1) 7))) (list (g 2 1)))
