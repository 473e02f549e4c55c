# SPDX-License-Identifier: MIT
"""protobuf.py - reads the messages of a pprof profile (github.com/google/pprof, proto/profile.proto)."""


def varints(data):
    at = 0
    while at < len(data):
        value, shift = 0, 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        yield value - (1 << 64) if value >> 63 else value, at


def fields(data):
    """[(number, int or bytes)] of a protobuf message."""
    at = 0
    while at < len(data):
        tag, n = next(varints(data[at:]))
        value, m = next(varints(data[at + n:]))
        at += n + m
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert tag & 7 == 0, tag
        yield tag >> 3, value
