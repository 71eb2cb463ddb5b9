"""Tables of the true answers, estimated from counts or reports."""
