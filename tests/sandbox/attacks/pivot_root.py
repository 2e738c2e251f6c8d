"""Swaps the root of its mount namespace for a folder of its own."""

import os

from attacker import expect_refusal, tried

tried("pivot_root")
os.makedirs("new/old", exist_ok=True)
expect_refusal("pivot_root", b"new", b"new/old")
expect_refusal("pivot_root", b".", b".")
