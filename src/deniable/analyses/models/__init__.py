"""Models of whole surveys: logistic regression on an estimated table, and trends over waves."""
