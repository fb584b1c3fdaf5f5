;; M05, a damped oscillator: x = A exp(-b t) cos(omega t). Input: t.
(params (A free 2.0)
        (b free 0.3)
        (omega free 3.14))

(let ((envelope (* A (exp (* -1 b t))))
      (phase (* omega t)))
  (* envelope (cos phase)))
