(with-exception-handler (lambda () 12) (lambda () no-such-name))
