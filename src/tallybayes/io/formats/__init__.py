"""One file per format of data, the same names in each."""
