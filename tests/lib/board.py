# SPDX-License-Identifier: MIT
"""board.py - the board of a process tree (include/memtop/board.h), created and read by a test in
place of memtop.

Board() is a memfd with a sealed board in it; .variable is the value of MEMTOP_BOARD. The agents of
all programs with that environment (board.environment()) write their records. records() reads them
all; records are freed only on request.
"""
import ctypes
import fcntl
import mmap
import os
import struct

from harness import at_end, wait_for
from client import preload

F_ADD_SEALS, SEAL_SHRINK, SEAL_GROW = 1033, 2, 4
FREE, CLAIMED, EXECING, RUNNING, ENDED, UNFOLLOWED = range(6)
UNKNOWN, EXIT, SIGNAL, EXEC = range(4)
FOLLOWED, STATIC, SETUID, MACHINE, LIBC, SANITIZER, UNREADABLE, NO_ROOM, WRAPPED, NO_AGENT, OTHER_PROC, NO_ACCESS = range(12)
NONE = 0xffffffff


class Head(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_char * 8), ("version", ctypes.c_uint32), ("records", ctypes.c_uint32),
                ("record_bytes", ctypes.c_uint32), ("collector", ctypes.c_uint32), ("matter_bytes", ctypes.c_uint64),
                ("matter_ns", ctypes.c_uint64), ("linger_ns", ctypes.c_uint64), ("xserial", ctypes.c_uint32),
                ("xnext", ctypes.c_uint32), ("xmissed", ctypes.c_uint32), ("xclosed", ctypes.c_uint32),
                ("matter_alloc_bytes", ctypes.c_uint64), ("reserved", ctypes.c_uint8 * 56)]


class Record(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("state", "serial", "pid", "parent", "parent_serial", "forked", "end", "status",
                                               "why", "lingers")] + \
               [(n, ctypes.c_uint64) for n in ("begin_ns", "end_ns", "stamp_ns", "alloc_blocks", "alloc_bytes",
                                               "freed_blocks", "freed_bytes", "peak_bytes", "inherited_blocks",
                                               "inherited_bytes")] + \
               [("exact", ctypes.c_uint32), ("socket", ctypes.c_char * 108), ("name", ctypes.c_char * 64),
                ("path", ctypes.c_char * 256), ("before_blocks", ctypes.c_uint64), ("before_bytes", ctypes.c_uint64),
                ("reserved", ctypes.c_uint8 * 72)]

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return os.fsdecode(value) if isinstance(value, bytes) else value

    @property
    def sum(self):
        """(allocated blocks, bytes, freed blocks, bytes)"""
        return self.alloc_blocks, self.alloc_bytes, self.freed_blocks, self.freed_bytes

    def __repr__(self):
        return (f"<{self.index}: {self.name} pid {self.pid} of {self.parent if self.parent != NONE else '-'}"
                f"{' forked' if self.forked else ''} state {self.state} end {self.end} {self.status} why {self.why}"
                f" {self.sum} peak {self.peak_bytes}{' exact' if self.exact else ''} '{self.path}' '{self.socket}'>")


assert ctypes.sizeof(Record) == 640


class Board:
    def __init__(self, records=512, matter_bytes=16 << 20, matter_s=1.0, linger_s=5.0, matter_alloc_bytes=0, seals=SEAL_SHRINK | SEAL_GROW):
        self.fd = os.memfd_create("memtop-board", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        at_end(os.close, self.fd)
        size = ctypes.sizeof(Head) + records * ctypes.sizeof(Record)
        os.ftruncate(self.fd, size)
        fcntl.fcntl(self.fd, F_ADD_SEALS, seals)
        self.map = mmap.mmap(self.fd, size)
        self.count = records
        self.head = Head.from_buffer(self.map)
        h = self.head
        h.magic, h.version, h.records, h.record_bytes = b"MTBOARD\n", 1, records, ctypes.sizeof(Record)
        h.collector, h.matter_bytes, h.matter_ns = os.getpid(), matter_bytes, int(matter_s * 1e9)
        h.linger_ns, h.matter_alloc_bytes = int(linger_s * 1e9), matter_alloc_bytes

    @property
    def variable(self):
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def environment(self, options="", **more):
        return preload(options, MEMTOP_BOARD=self.variable, **more)

    def record(self, index):
        """A copy."""
        at = ctypes.sizeof(Head) + index * ctypes.sizeof(Record)
        r = Record.from_buffer_copy(self.map, at)
        object.__setattr__(r, "index", index)
        return r

    def records(self):
        """All that are not free, in the order of their beginning."""
        found = []
        for i in range(self.count):
            at = ctypes.sizeof(Head) + i * ctypes.sizeof(Record)
            if struct.unpack_from("I", self.map, at)[0]:
                found.append(self.record(i))
        return sorted(found, key=lambda r: r.begin_ns)

    def named(self, name):
        return [r for r in self.records() if r.name == name]

    def free(self, index):
        at = ctypes.sizeof(Head) + index * ctypes.sizeof(Record)
        self.map[at:at + 4] = struct.pack("I", FREE)

    def take(self, index):
        """Claims a free record, as another process would; its bytes."""
        at = ctypes.sizeof(Head) + index * ctypes.sizeof(Record)
        r = Record.from_buffer(self.map, at)
        r.state, r.serial = CLAIMED, r.serial + 1
        return bytes(self.record(index))

    def settled(self, seconds=20):
        """All records, once none is under way: each ended or not followed."""
        wait_for(lambda: all(r.state in (ENDED, UNFOLLOWED) for r in self.records()), seconds,
                 "every record's end")
        return self.records()

    def close(self):
        self.head.xclosed = 1
