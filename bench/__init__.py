"""Side-by-side benchmarks against the peers, in one run."""
