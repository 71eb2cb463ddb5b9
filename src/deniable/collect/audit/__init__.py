"""A black-box audit of a plan: reports drawn from the shipped clients, held against its stated epsilon."""
