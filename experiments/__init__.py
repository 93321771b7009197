"""What a user runs: `python -m experiments --help`."""
