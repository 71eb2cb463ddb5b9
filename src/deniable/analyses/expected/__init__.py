"""Parts of what a plan will tell: guesses of the truth, noise as a survey has it, and simulated surveys."""
