"""The command `tally`: one file per group of subcommands. Heavy modules are imported only when a subcommand runs."""
