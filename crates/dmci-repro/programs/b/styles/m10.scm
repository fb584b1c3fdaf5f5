(params (a free 1.0) (b free 2.0))
(let ((gate (sigmoid (* b x))))
  (* (* a x) gate))
