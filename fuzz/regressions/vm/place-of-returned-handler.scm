(with-exception-handler (lambda e 1) (lambda () no-such-name))
