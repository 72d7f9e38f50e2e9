"""Example data that comes with the package: a generated table of pets, and mails written for this project."""
