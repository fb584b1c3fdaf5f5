(params (a free 3.0) (b free 0.75))
(* a (exp (* b (log x))))
