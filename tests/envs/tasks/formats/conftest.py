"""Keeps pytest from the tests that tasks among the data bring with them."""

collect_ignore = ["data"]
