"""Mounts through the new system calls, which older filters do not know."""

from attacker import expect_refusal, tried

CALLS = ("fsopen", "open_tree")

tried("fsopen, open_tree, mount_setattr")
expect_refusal("fsopen", b"tmpfs", 0)
expect_refusal("open_tree", -100, b"/", 1)
expect_refusal("mount_setattr", -100, b"/", 0x8000, b"\0" * 32, 32)
