"""What a model can say besides predictions: explanations, flips, parameters, objective, samples.
"""
