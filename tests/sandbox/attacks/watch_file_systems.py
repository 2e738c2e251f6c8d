"""Watches what the host does with files through fanotify."""

from attacker import expect_refusal, tried

tried("fanotify_init")
expect_refusal("fanotify_init", 0x0, 0, refusals=("EINVAL",))
