"""Makes calls that only an administrator may: names, swap, accounting, quotas, restart, ports."""

import ctypes

from attacker import expect_refusal, got, libc, tried

tried("sethostname, swapon, acct, quotactl, reboot, iopl, vhangup")
expect_refusal("sethostname", b"planted", 7)
expect_refusal("swapon", b"/tmp/none", 0)
expect_refusal("acct", b"/tmp/none")
expect_refusal(
    "quotactl", 0x800002 << 8, b"/dev/none", 0, 0, refusals=("ENOENT", "ENOTBLK", "ENODEV")
)
expect_refusal("reboot", 1, 2, 3, 0)  # wrong magic numbers: it does nothing where it is allowed
for name, level in (("iopl", 3), ("vhangup", 0)):
    if getattr(libc, name)(ctypes.c_int(level)) == 0:
        got(name)
if libc.setdomainname(b"planted", 7) == 0:
    got("setdomainname")
