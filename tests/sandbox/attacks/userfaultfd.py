"""Opens userfaultfd, with which races in the kernel are won."""

from attacker import expect_refusal, tried

CALLS = ("userfaultfd",)
UNPROTECTED = "escapes"

tried("userfaultfd")
expect_refusal("userfaultfd", 0x80001)
