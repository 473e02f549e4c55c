# SPDX-License-Identifier: MIT
"""refuse.py - seccomp filters for tests, as container profiles and sandboxes set them.

refuse(ERRNO, "kcmp") returns a function for Popen's preexec_fn: the program and its children run
under a filter that answers those system calls with EPERM (ERRNO) or ends the process (KILL). A pair
(name, bits) is refused only when the first argument has all of these bits.
"""
import ctypes
import os
import struct
import sys

from harness import Skip

ERRNO, KILL = 0x00050001, 0x80000000
NUMBERS = {  # x86-64
    "socket": 41, "clone": 56, "kill": 62, "ptrace": 101, "setuid": 105, "prctl": 157, "tgkill": 234, "openat": 257, "unshare": 272, "accept4": 288,
    "kcmp": 312, "pidfd_open": 434, "close_range": 436, "signalfd4": 289, "setsid": 112, "process_vm_readv": 310,
    "setgroups": 116, "setresuid": 117, "setresgid": 119,
}
VFORK = 0x4000  # CLONE_VFORK


def _instruction(code, true, false, k):
    return struct.pack("HBBI", code, true, false, k)


def program(action, *calls):
    """BPF: load the number; for each call compare, perhaps test bits of its first argument, then the action."""
    code = _instruction(0x20, 0, 0, 0)
    for call in calls:
        name, bits = call if isinstance(call, tuple) else (call, None)
        if bits is None:
            code += _instruction(0x15, 0, 1, NUMBERS[name])
        else:
            code += _instruction(0x15, 0, 6, NUMBERS[name]) + _instruction(0x20, 0, 0, 16) + _instruction(0x54, 0, 0, bits)
            code += _instruction(0x15, 0, 2, bits)
        code += _instruction(0x06, 0, 0, action)
        if bits is not None:
            code += _instruction(0x05, 0, 0, 1) + _instruction(0x20, 0, 0, 0) + _instruction(0x20, 0, 0, 0)
    return code + _instruction(0x06, 0, 0, 0x7FFF0000)


def install(code):
    """In the calling process, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    rules = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
    p = Program(len(code) // 8, ctypes.addressof(rules))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(p), 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


def refuse(action, *calls):
    if os.uname().machine != "x86_64":
        raise Skip("the filter knows x86-64's numbers only")
    code = program(action, *calls)
    return lambda: install(code)


if __name__ == "__main__":  # refuse.py errno|kill CALL... -- PROGRAM ...
    at = sys.argv.index("--")
    refuse(KILL if sys.argv[1] == "kill" else ERRNO, *((c.split(":")[0], int(c.split(":")[1], 0)) if ":" in c else c
                                                      for c in sys.argv[2:at]))()
    os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
