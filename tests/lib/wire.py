# SPDX-License-Identifier: MIT
"""wire.py - the stream of include/memtop/wire.h for tests, written from that page alone.

One table describes every frame; encode() and decode() both walk it, so that they always agree
about a field. Codes: v varint, s text, b raw bytes, + a varint id written as the difference to
the one before in the frame, a list = "n x { ... }". NODES and HISTORY depend on their own
contents and are written out below the table.
"""

import hashlib
import hmac

MAGIC = b"MEMTOP\r\n"
VERSION = 1  # of Unix sockets; over TCP:
PROVED = 2
NONCE_LEN = PROOF_LEN = 32
LABEL_CLIENT, LABEL_AGENT = b"MEMTOP client v2", b"MEMTOP agent  v2"
FRAME_MAX = 1 << 20
BATCH_MAX = 65536
WINDOW_MIN, WINDOW_MAX, ACK_EVERY = 65536, 4 << 20, 16384

NAMES = {
    **dict(enumerate("HELLO ERROR TOTALS TICK STATE MODULE NODES SLOTS COUNTS THREAD PROCESS MARK MARK_LIVE"
                     " HISTORY LOSS OPTION NOTICE SCAN_THREADS SCAN_AGES STACKS FILTER WEIGHED MEMORY SCAN_MEMORY"
                     " SCAN_COHORTS PROVEN".split(), 1)),
    27: "CHALLENGE", 28: "PROOF", 29: "SAMPLES", 30: "SAMPLE_LIVE", 31: "PEAK", 32: "STOPS",
    **dict(enumerate("CLIENT ACK SET_MARK DROP_MARK RENAME_MARK SET_OPTION SCAN DETACH RESPONSE".split(), 64)),
    **dict(enumerate("S_META S_TIME S_SYMBOL S_EXIT S_EXPECTED S_NOTE S_GENERATED".split(), 128)),
}
globals().update({name: kind for kind, name in NAMES.items()})

TICK_COMPLETE, TICK_FINAL = 1, 2
PART_FIRST, PART_LAST = 1, 2
(MODULE_MAIN, MODULE_AGENT, MODULE_LIBC, MODULE_CXX, MODULE_GONE, MODULE_ALLOC,
 MODULE_VDSO) = (1 << i for i in range(7))
(MODULE_HOOKED, MODULE_CALLS_NONE, MODULE_OWN, MODULE_ELSEWHERE, MODULE_SPARED, MODULE_UNMATCHED,
 MODULE_APART) = (1 << i for i in range(7, 14))
MODULE_HOOKS = 127 << 7
CODE, SIGNAL, NOWHERE, TRUNCATED = range(4)
RUNNING, EXITED, SIGNALLED, EXECED = range(4)
DETACHED = 6
CLIENT_COMMAND, CLIENT_PROMPT = 1, 2
LOSS_SLOTS = 1
E_VERSION, E_ACCESS, E_FRAME, E_BUSY, E_GONE, E_DETACH = range(1, 7)

_COUNTERS = [("allocated_blocks", "v"), ("allocated_bytes", "v"), ("freed_blocks", "v"),
             ("freed_bytes", "v")]
_GROUP = [("blocks", "v"), ("bytes", "v")]

FRAMES = {
    HELLO: [("version", "v"), ("features", "v"), ("pid", "v"), ("uid", "v"), ("start_unix_ns", "v"),
            ("now_ns", "v"), ("tick_ns", "v"), ("word_bits", "v"), ("arch", "s"), ("exe", "s"),
            ("agent_version", "s"), ("options", "s"), ("args", [("arg", "s")])],
    ERROR: [("code", "v"), ("text", "s")],
    CHALLENGE: [("nonce", "b")],
    PROOF: [("proof", "b")],
    TOTALS: [("time_ns", "v"), *_COUNTERS, ("peak_bytes", "v"), ("peak_error_bytes", "v"),
             ("peak_time_ns", "v"), ("agent_memory_bytes", "v"), ("agent_cpu_ns", "v"), ("hook_ns", "v"),
             ("target_cpu_ns", "v"), ("slots_total", "v"), ("slots_sent", "v"), ("live_sent_bytes", "v")],
    TICK: [("seq", "v"), ("time_ns", "v"), ("flags", "v")],
    STATE: [("state", "v"), ("status", "v"), ("time_ns", "v"), ("known", "v")],
    MODULE: [("id", "v"), ("flags", "v"), ("load_bias", "v"), ("start", "v"), ("end", "v"),
             ("loaded_ns", "v"), ("unloaded_ns", "v"), ("build_id", "b"), ("path", "s")],
    NODES: None,
    SLOTS: [("slots", [("id", "+"), ("node", "v"), ("epoch", "v")])],
    COUNTS: [("counts", [("slot", "+"), *_COUNTERS])],
    THREAD: [("index", "v"), ("tid", "v"), ("flags", "v"), ("name", "s"), *_COUNTERS],
    PROCESS: [("rss_bytes", "v"), ("virtual_bytes", "v"), ("threads", "v"), ("children", "v")],
    MARK: [("id", "v"), ("epoch", "v"), ("flags", "v"), ("time_ns", "v"), ("name", "s"), ("set_by", "s"),
           *_COUNTERS, ("rss_bytes", "v")],
    MARK_LIVE: [("mark", "v"), ("flags", "v"), ("live", [("slot", "+"), *_GROUP])],
    HISTORY: None,
    LOSS: [("reason", "v"), ("events", "v"), ("bytes", "v")],
    OPTION: [("name", "s"), ("value", "s"), ("who", "s")],
    NOTICE: [("text", "s")],
    SCAN_THREADS: [("request", "v"), ("threads", [("thread", "v"), *_GROUP])],
    SCAN_AGES: [("request", "v"), *_GROUP, ("ages", [("birth_ns", "v"), *_GROUP]),
                ("sizes", [("log2", "v"), *_GROUP]), ("threads", [("thread", "v"), *_GROUP])],
    STACKS: [("allocations", "v"), ("captures", "v"), ("whole", "v"), ("frames", "v"), ("pc_misses", "v"),
             ("edge_misses", "v")],
    FILTER: [("index", "v"), ("since_ns", "v"), ("sample", "v"), ("min_size", "v"), ("max_size", "v"),
             ("merge", "v"), ("libs", "s"), ("exclude", "s"), ("who", "s")],
    WEIGHED: [("slots", [("slot", "+"), ("sample", "v")])],
    MEMORY: [("parts", [("name", "s"), ("bytes", "v")])],
    SCAN_MEMORY: [("request", "v"), ("time_ns", "v"),
                  ("parts", [("what", "v"), ("name", "s"), ("bytes", "v"), ("mappings", "v")])],
    SCAN_COHORTS: [("request", "v"), ("flags", "v"), ("time_ns", "v"), *_GROUP,
                   ("cohorts", [("slot", "+"), ("thread", "v"), ("age_s", "v"), *_GROUP])],
    RESPONSE: [("nonce", "b"), ("proof", "b")],
    PROVEN: [("nodes", [("node", "+"), ("by", "v")])],
    SAMPLES: [("flags", "v"), ("samples", [("serial", "+"), ("time_ns", "v"), ("live_bytes", "v"), ("low_bytes", "v"),
                                           ("fall_bytes", "v"), ("rss_bytes", "v")])],
    SAMPLE_LIVE: [("serial", "v"), ("flags", "v"), ("live", [("slot", "+"), *_GROUP])],
    PEAK: [("serial", "v"), ("flags", "v"), ("time_ns", "v"), *_COUNTERS, ("counts", [("slot", "+"), *_COUNTERS])],
    STOPS: [("slept_ns", "v"), ("slept_at_ns", "v"),
            ("stops", [("begin_ns", "v"), ("end_ns", "v"), ("stopped_ns", "v"), ("times", "v"), ("why", "v"), ("pid", "v"),
                       ("name", "s")])],
    CLIENT: [("features", "v"), ("who", "s"), ("token", "s"), ("tick_ns", "v")],
    ACK: [("bytes", "v")],
    SET_MARK: [("name", "s")],
    DROP_MARK: [("id", "v")],
    RENAME_MARK: [("id", "v"), ("name", "s")],
    SET_OPTION: [("name", "s"), ("value", "s")],
    SCAN: [("request", "v"), ("kind", "v"), ("slots", [("slot", "+")])],
    DETACH: [],  # the client goes; of the agent: detach_agent()
    S_META: [("memtop_version", "s"), ("target", "s"), ("unix_ns", "v")],
    S_TIME: [("time_ns", "v")],
    S_SYMBOL: [("module", "v"), ("offset", "v"), ("kind", "v"), ("source", "v"),
               ("frames", [("function", "s"), ("file", "s"), ("line", "v"), ("inlined", "v")])],
    S_EXIT: [("state", "v"), ("status", "v")],
    S_EXPECTED: [("site", "s"), ("on", "v")],
    S_NOTE: [("text", "s")],
    S_GENERATED: [("pc", "v"), ("source", "v"), ("frames", [("function", "s"), ("file", "s"), ("line", "v"), ("inlined", "v")])],
}
_HISTORY_POINT = [("time_ns", "v"), ("live_bytes", "v"), ("live_blocks", "v"), ("allocated_bytes", "v"),
                  ("allocated_blocks", "v"), ("freed_blocks", "v"), ("rss_bytes", "v")]


class WireError(Exception):
    """Bytes that break the contract."""


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def raw(data):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return varint(len(data)) + data


def detach_agent():
    """DETACH with its one optional field: the agent goes."""
    return varint(DETACH) + raw(varint(1))


def _put(out, fields, value, last):
    for name, code in fields:
        v = value[name]
        if code == "v":
            out += varint(v)
        elif code == "+":
            if v < last[0]:
                raise WireError(f"{name} {v} is below the one before")
            out += varint(v - last[0])
            last[0] = v
        elif isinstance(code, list):
            out += varint(len(v))
            before = [0]
            for entry in v:
                _put(out, code, entry if isinstance(entry, dict) else {code[0][0]: entry}, before)
        else:
            out += raw(v)


def _put_nodes(out, value):
    out += varint(len(value["nodes"]))
    last = 0
    for n in value["nodes"]:
        out += varint(n["id"] - last) + varint(n["kind"]) + varint(n["parent"])
        last = n["id"]
        if n["kind"] in (CODE, SIGNAL):
            out += varint(n["module"]) + varint(n["offset"])
        else:
            out += varint(n["pc"] if n["kind"] == NOWHERE else n["reason"])


def _put_history(out, value):
    out += varint(value["interval_ns"]) + varint(len(value["owners"]))
    for module in value["owners"]:
        out += varint(module)
    out += varint(len(value["points"]))
    for p in value["points"]:
        _put(out, _HISTORY_POINT, p, [0])
        for live in p["owner_bytes"]:
            out += varint(live)


def payload(kind, /, **value):
    out = bytearray()
    if kind == NODES:
        _put_nodes(out, value)
    elif kind == HISTORY:
        _put_history(out, value)
    else:
        _put(out, FRAMES[kind], value, [0])
    return bytes(out)


def frame(kind, /, **value):
    body = payload(kind, **value)
    return varint(kind) + varint(len(body)) + body


def greeting(version=VERSION, lowest=1):
    return MAGIC + version.to_bytes(2, "little") + lowest.to_bytes(2, "little")


def proof(token, label, *exchange):
    """Of LABEL_CLIENT or LABEL_AGENT; the exchange: the agent's greeting and nonce, the client's greeting and nonce."""
    return hmac.new(token.encode(), label + b"".join(exchange), hashlib.sha256).digest()


class Cursor:
    """Reads one payload; raises WireError at the first violation."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift >= 70:
                raise WireError("varint past the end" if shift < 70 else "varint too long")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def raw(self):
        n = self.varint()
        if n > len(self.data) - self.at:
            raise WireError("string past the end")
        self.at += n
        return self.data[self.at - n:self.at]

    def text(self):
        return self.raw().decode("utf-8", "surrogateescape")


def _get(cur, fields, last):
    value = {}
    for name, code in fields:
        if code == "v":
            value[name] = cur.varint()
        elif code == "+":
            last[0] += cur.varint()
            value[name] = last[0]
        elif isinstance(code, list):
            before = [0]
            entries = [_get(cur, code, before) for _ in range(cur.varint())]
            value[name] = [e[code[0][0]] for e in entries] if len(code) == 1 else entries
        else:
            value[name] = cur.text() if code == "s" else bytes(cur.raw())
    return value


def _get_nodes(cur):
    nodes, last = [], 0
    for _ in range(cur.varint()):
        last += cur.varint()
        n = {"id": last, "kind": cur.varint(), "parent": cur.varint()}
        if n["kind"] in (CODE, SIGNAL):
            n["module"], n["offset"] = cur.varint(), cur.varint()
        else:
            n["pc" if n["kind"] == NOWHERE else "reason"] = cur.varint()
        nodes.append(n)
    return {"nodes": nodes}


def _get_history(cur):
    value = {"interval_ns": cur.varint()}
    value["owners"] = [cur.varint() for _ in range(cur.varint())]
    value["points"] = []
    for _ in range(cur.varint()):
        p = _get(cur, _HISTORY_POINT, [0])
        p["owner_bytes"] = [cur.varint() for _ in value["owners"]]
        value["points"].append(p)
    return value


def decode(kind, body):
    cur = Cursor(body)
    if kind == NODES:
        return _get_nodes(cur)
    if kind == HISTORY:
        return _get_history(cur)
    if kind not in FRAMES:
        return {}
    value = _get(cur, FRAMES[kind], [0])
    if kind == HELLO and cur.at < len(body) and cur.varint():  # older agents say nothing of forks, or no epoch
        value["before"] = _get(cur, _COUNTERS, [0])
        value["first_epoch"] = cur.varint() if cur.at < len(body) else None
    return value


class Splitter:
    """Bytes in, (type, payload) out; keeps an incomplete frame."""

    def __init__(self, limit=FRAME_MAX):
        self.buffer, self.limit = bytearray(), limit

    def feed(self, data):
        self.buffer += data
        frames = []
        while True:
            cur = Cursor(self.buffer)
            try:
                kind, length = cur.varint(), cur.varint()
            except WireError:
                if len(self.buffer) >= 20:
                    raise
                break
            if length > self.limit:
                raise WireError(f"frame of {length} bytes")
            if len(self.buffer) < cur.at + length:
                break
            frames.append((kind, bytes(self.buffer[cur.at:cur.at + length])))
            del self.buffer[:cur.at + length]
        return frames
