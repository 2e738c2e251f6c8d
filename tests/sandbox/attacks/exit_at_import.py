"""Ends the process with success by sys.exit while the tests import it."""

import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("sys.exit(0)")
sys.exit(0)
