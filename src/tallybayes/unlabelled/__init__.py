"""Rows without a label, by expectation-maximisation: how they are divided among the classes, and what they add.

    E step    P(c | x) of every unlabelled row x under the parameters so far: its shares
    M step    the parameters from the sums of the labelled rows, and of the unlabelled ones with their shares as weights

(Dempster, Laird and Rubin 1977; for naive Bayes: Nigam, McCallum, Thrun and Mitchell 2000.) A model is a sum, so the
M step is counting, and the result is one more sum (`state/unlabelled_sums.py`), kept apart from that of labelled rows.

`round_columns` says how columns are counted in the rounds, `rounds` runs them, `soft_counts` counts rows with shares,
`row_weight` chooses how much an unlabelled row counts.
"""
