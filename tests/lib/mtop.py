# SPDX-License-Identifier: MIT
"""mtop.py - session files in Python: reads their frames, and writes files of other frames. Blocks
are those of backend/session/format.h."""
import ctypes

import wire

_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress.restype = _zstd.ZSTD_decompress.restype = ctypes.c_size_t
HEAD = 16


def _unpack(data, size):
    out = ctypes.create_string_buffer(size)
    assert _zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size, "no block of zstd's"
    return out.raw


def pack(data):
    room = _zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = _zstd.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def blocks(data):
    """Of each whole block: its head of 32 bytes (36 of another stream than 0), and its frames as (kind, payload, bytes of the frame)."""
    at = HEAD
    while data[at:at + 4] in (b"BLK1", b"BLK2"):
        size = 32 if data[at:at + 4] == b"BLK1" else 36
        head, packed = data[at:at + size], int.from_bytes(data[at + 4:at + 8], "little")
        raw, frames = _unpack(data[at + size:at + size + packed], int.from_bytes(head[8:12], "little")), []
        cur = wire.Cursor(raw)
        while cur.at < len(raw):
            begin = cur.at
            kind, length = cur.varint(), cur.varint()
            frames.append((kind, raw[cur.at:cur.at + length], raw[begin:cur.at + length]))
            cur.at += length
        yield head, frames
        at += size + packed


def without(source, to, kinds):
    """The same session without frames of these kinds; it ends behind its last block, as one that was cut."""
    with open(source, "rb") as f:
        data = f.read()
    out = data[:HEAD]
    for head, frames in blocks(data):
        raw = b"".join(whole for kind, _, whole in frames if kind not in kinds)
        body = pack(raw)
        out += head[:4] + len(body).to_bytes(4, "little") + len(raw).to_bytes(4, "little") + head[12:] + body
    with open(to, "wb") as f:
        f.write(out)


def streams(source):
    """(stream, kind, value) of each frame that an agent sent; a stream is of one process."""
    with open(source, "rb") as f:
        data = f.read()
    for head, frames in blocks(data):
        for kind, payload, _ in frames:
            if kind < wire.CLIENT:
                yield int.from_bytes(head[28:32], "little"), kind, wire.decode(kind, payload)


def decoded(source):
    """(kind, value) likewise, of a session of one process."""
    for stream, kind, value in streams(source):
        if not stream:
            yield kind, value
