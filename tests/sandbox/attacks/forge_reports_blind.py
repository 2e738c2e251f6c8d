"""Writes reports to every descriptor with guessed words before them, then ends."""

import json
import os
import secrets

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("guesses")
reports = [
    json.dumps({"name": name, "outcome": "passed", "message": ""})
    for name in ("test_small", "test_large")
]
for fd in range(1, 256):
    for word in ("", "0" * 32, secrets.token_hex(16), "{nonce}", "None", " "):
        for report in reports:
            try:
                os.set_blocking(fd, False)
                os.write(fd, f"{word} {report}\n{report}\n".encode())
            except OSError:
                break
os._exit(0)
