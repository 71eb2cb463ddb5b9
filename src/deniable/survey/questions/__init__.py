"""What a question may be called and answered, and the survey file that lists all questions."""
