(params (epsilon free 0.45))
(* epsilon (* c l))
