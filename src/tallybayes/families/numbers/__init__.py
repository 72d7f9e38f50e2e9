"""Families of columns of numbers: normal and Student t, histograms, Poisson and negative binomial."""
