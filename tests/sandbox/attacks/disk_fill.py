"""Writes files into the work area until there is no room, and tries to keep them."""

from attacker import tried

ENDS_BY = ("disk",)

tried("200 MiB")
for number in range(50):
    with open(f"fill{number}", "wb") as file:
        file.write(bytes(4 << 20))
