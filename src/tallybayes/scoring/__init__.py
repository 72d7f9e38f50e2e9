"""What is derived from a model's state: scores, posteriors, leave-one-out, intervals."""
