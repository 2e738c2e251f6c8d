"""Loads a program and makes a map with bpf(2)."""

import ctypes

from attacker import expect_refusal, tried

CALLS = ("bpf",)
UNPROTECTED = "refused"

tried("BPF_MAP_CREATE, BPF_PROG_LOAD")
made = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
expect_refusal("bpf", 0, made, ctypes.sizeof(made))
code = (ctypes.c_uint64 * 2)(0xB7, 0x95)
name = ctypes.create_string_buffer(b"GPL")
program = (ctypes.c_uint64 * 16)()
program[0] = 1 | 2 << 32
program[1] = ctypes.addressof(code)
program[2] = ctypes.addressof(name)
expect_refusal("bpf", 5, program, ctypes.sizeof(program))
