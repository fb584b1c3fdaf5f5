(params (Vmax free 10.0) (Km free 2.5))
(let* ((saturation (/ S (+ Km S))))
  (* Vmax saturation))
