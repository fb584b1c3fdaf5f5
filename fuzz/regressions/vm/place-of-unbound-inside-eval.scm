(eval '(g1))
