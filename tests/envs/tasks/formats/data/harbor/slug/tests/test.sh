#!/bin/bash
# Writes 1 if all tests pass, and 0 if not.
mkdir -p /logs/verifier
cd /app || exit 1
if python -m pytest -q -p no:cacheprovider /tests/test_outputs.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
