# SPDX-License-Identifier: MIT
"""tracing.py - stops a process right before it closes a socket, for as long as a test needs (ptrace)."""
import ctypes
import os
import platform
import threading

from harness import Skip

SEIZE, INTERRUPT, DETACH, SYSCALL, GET_SYSCALL_INFO, SINGLESTEP = 0x4206, 0x4207, 17, 24, 0x420e, 9
ALL_CHILDREN = 0x40000000  # __WALL
TRACE_SYSGOOD = 1
CLOSE = {"x86_64": 3, "aarch64": 57}.get(platform.machine())


class Call(ctypes.Structure):
    _fields_ = [("op", ctypes.c_uint8), ("arch", ctypes.c_uint32), ("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64),
                ("number", ctypes.c_uint64), ("argument", ctypes.c_uint64 * 6)]


def ptrace(request, pid, address=0, data=0):
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x}) of {pid}")


def stopped_at(pid):
    call = Call()
    ptrace(GET_SYSCALL_INFO, pid, ctypes.sizeof(call), ctypes.addressof(call))
    return call


def called(pid):
    """The call that it is about to make; None: it comes out of one, or stopped for something else."""
    call = stopped_at(pid)
    return (call.number, call.argument[0]) if call.op == 1 else None


def held(tid):
    """That thread stands still from here on; the caller lets it go."""
    ptrace(SEIZE, tid)
    ptrace(INTERRUPT, tid)
    os.waitpid(tid, ALL_CHILDREN)


def step(tid):
    """It executes one instruction; the address of the next one."""
    ptrace(SINGLESTEP, tid)
    os.waitpid(tid, ALL_CHILDREN)
    return stopped_at(tid).ip


class HeldAtClose:
    """A process that stops right before it closes the socket of that inode; release() lets it go on, untraced."""

    def __init__(self, pid, inode):
        if not CLOSE:
            raise Skip(f"no number of close() is known for {platform.machine()}")
        self.pid, self.link, self.error = pid, f"socket:[{inode}]", None
        self.watched, self.held, self.released = threading.Event(), threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._trace, daemon=True)
        self.thread.start()
        self.watched.wait(60)
        assert not self.error, self.error

    def _trace(self):
        try:
            ptrace(SEIZE, self.pid, 0, TRACE_SYSGOOD)
            ptrace(INTERRUPT, self.pid)
            os.waitpid(self.pid, ALL_CHILDREN)
            self.watched.set()
            while not self._closes():
                ptrace(SYSCALL, self.pid)
                os.waitpid(self.pid, ALL_CHILDREN)
            self.held.set()
            self.released.wait(60)
            ptrace(DETACH, self.pid)
        except OSError as e:
            self.error = e
            self.watched.set()

    def _closes(self):
        at = called(self.pid)
        return at and at[0] == CLOSE and os.readlink(f"/proc/{self.pid}/fd/{at[1]}") == self.link

    def release(self):
        self.released.set()
        self.thread.join(10)
        assert not self.error, self.error
