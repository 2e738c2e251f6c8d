"""Ends the process with success before any hidden test has run."""

import os

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("os._exit(0)")
os._exit(0)
