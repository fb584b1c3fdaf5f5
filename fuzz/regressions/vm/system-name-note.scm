(= 4 (%note 4))
