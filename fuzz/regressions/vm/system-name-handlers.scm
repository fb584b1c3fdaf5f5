((%set-handlers! 0) test-error)
