(%leaf 3)
