"""What happens to every request and answer: access, limits, bodies, problems."""
