;; M01, Coulomb's law: F = k q1 q2 / r^2. Inputs: r, q1, q2.
(params (k free 8.99))

(/ (* k q1 q2) (* r r))
