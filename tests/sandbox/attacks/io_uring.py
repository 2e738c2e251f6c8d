"""Sets up io_uring, whose operations no filter of system calls sees."""

import ctypes

from attacker import expect_refusal, tried

CALLS = ("io_uring_setup",)
UNPROTECTED = "escapes"

tried("io_uring_setup")
parameters = (ctypes.c_uint8 * 120)()
expect_refusal("io_uring_setup", 4, parameters)
