"""The model file, `*.tally`."""
