"""Loads and removes kernel modules and another kernel."""

import os

from attacker import expect_refusal, tried

tried("init_module, finit_module, delete_module, kexec_load")
junk = os.memfd_create("junk")
os.write(junk, b"not a module")
expect_refusal("init_module", b"not a module", 12, b"")
expect_refusal("finit_module", junk, b"", 0)
expect_refusal("delete_module", b"sim2live_no_such_module", 0o4000)
expect_refusal("kexec_load", 0, 0, 0, 0xFFFFFFFF)
