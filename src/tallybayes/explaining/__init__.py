"""What a model offers besides predictions: explanations, flips, parameters, objective, samples."""
