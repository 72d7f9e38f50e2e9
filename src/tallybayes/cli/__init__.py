"""The command `tally`: one file per group of verbs. Nothing heavy is imported before a verb runs."""
