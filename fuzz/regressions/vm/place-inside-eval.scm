(eval '(car 1))
