;; P2, nested arithmetic with two parameters: y = a + b x^2. Input: x.
(params (a free 3.0)
        (b free 0.5))

(+ a (* b (* x x)))
