"""What a user runs: `python -m experiments --help`."""

import os

# Threads of torch that wait for each other sleep. By default they spin, and where others use the cores, too, that makes
# two threads many times slower than one. It has to be said before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
