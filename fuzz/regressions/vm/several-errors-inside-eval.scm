(eval '(list (if) (if)))
