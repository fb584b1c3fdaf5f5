;; M02, Beer and Lambert's law: A = epsilon c l. Inputs: c, l.
(params (epsilon free 0.45))

(define (absorbance concentration path)
  (* epsilon concentration path))

(absorbance c l)
