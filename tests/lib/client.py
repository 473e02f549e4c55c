# SPDX-License-Identifier: MIT
"""client.py - a viewer in Python: it keeps the data of one connection to an agent as a model.

Client(connect) greets and identifies itself. pump() reads frames, applies those between two TICKs
as one step, acknowledges them, and checks the contract: every id is sent before its use, counters
never decrease, ids ascend in a frame, and on every TICK that says COMPLETE the sum over slots
equals TOTALS. A broken promise raises WireError.
"""
import contextlib
import os
import select
import socket
import time

import wire
from harness import AGENT, PATIENCE, at_end, start
from wire import WireError


def connect_abstract(name):
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + name.lstrip("@"))
    return s


def connect_to(target, deadline=10):
    """A socket to "@NAME", "/PATH" or a port on loopback, as soon as somebody listens."""
    end = time.monotonic() + deadline * PATIENCE
    while True:
        try:
            if isinstance(target, int):
                return socket.create_connection(("127.0.0.1", target))
            if target.startswith("@"):
                return connect_abstract(target)
            s = socket.socket(socket.AF_UNIX)
            s.connect(target)
            return s
        except (ConnectionRefusedError, FileNotFoundError):
            if time.monotonic() > end:
                raise AssertionError(f"{target}: nobody listens after {deadline} s") from None
            time.sleep(0.005)


def zero():
    return {"allocated_blocks": 0, "allocated_bytes": 0, "freed_blocks": 0, "freed_bytes": 0}


class Closed(Exception):
    """The agent closed the connection."""


class Client:
    def __init__(self, target, who="test", token="", tick_ns=0, ack=True, hello=True, features=0):
        self.sock = connect_to(target) if isinstance(target, (str, int)) else target
        at_end(self.sock.close)
        self.splitter = wire.Splitter()
        self.ack, self.consumed, self.acked = ack, 0, 0
        self.ack_every = 1 if features & wire.CLIENT_PROMPT else 8192
        self.hello, self.totals, self.state, self.history, self.process = None, None, None, None, None
        self.modules, self.nodes, self.slots, self.counts = {}, {0: None}, {}, {}
        self.sums = zero()  # of counts, so that a tick costs what it changed
        self.threads, self.options, self.losses, self.marks, self.mark_live = {}, {}, {}, {}, {}
        self.mark_done, self.notices, self.scans, self.errors = set(), [], {}, []
        self.filters, self.weighed = [], {}
        self.peak, self.peak_counts, self.peak_parts = None, {}, {}  # PEAK: its figures, its counters by slot
        self.ticks = self.completes = self.time_ns = 0
        self.complete = self.final = self.ended = False
        self.kinds = []
        if hello:
            self.greeting = self._exactly(12)
            if self.greeting[:8] != wire.MAGIC:
                raise WireError(f"not a greeting: {self.greeting!r}")
            with contextlib.suppress(BrokenPipeError):  # refused: its reason is still to be read
                if self.greeting[10] >= wire.PROVED:
                    self.prove(token)
                else:
                    self.sock.sendall(wire.greeting())
                if not self.ended:
                    self.send(wire.CLIENT, features=features, who=who, token="", tick_ns=tick_ns)

    # --- bytes

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            self.sock.settimeout(10 * PATIENCE)
            more = self.sock.recv(n - len(data))
            if not more:
                raise Closed("closed before the greeting")
            data += more
        return data

    def _frame(self):
        """The next frame, and not a byte behind it."""
        head = b""
        while len(head) < 2 or head[-1] & 0x80:
            head += self._exactly(1)
        cur = wire.Cursor(head)
        kind, length = cur.varint(), cur.varint()
        return kind, wire.decode(kind, self._exactly(length))

    def prove(self, token):
        """Version 2, both proofs; an ERROR ends it."""
        kind, challenge = self._frame()
        if kind != wire.CHALLENGE or len(challenge["nonce"]) != wire.NONCE_LEN:
            raise WireError(f"{wire.NAMES.get(kind, kind)} where CHALLENGE was due")
        mine, nonce = wire.greeting(wire.PROVED), os.urandom(wire.NONCE_LEN)
        exchange = self.greeting, challenge["nonce"], mine, nonce
        self.sock.sendall(mine + wire.frame(wire.RESPONSE, nonce=nonce, proof=wire.proof(token, wire.LABEL_CLIENT, *exchange)))
        kind, answer = self._frame()
        if kind == wire.ERROR:
            self.apply(kind, answer)
            self.ended = True
        elif kind != wire.PROOF or answer["proof"] != wire.proof(token, wire.LABEL_AGENT, *exchange):
            raise WireError(f"the agent does not prove itself: {wire.NAMES.get(kind, kind)}")

    def send(self, kind, /, **value):
        self.sock.sendall(wire.frame(kind, **value))

    def pump(self, seconds=0.05):
        """Read what comes within that time (at least one try); False when the agent closed."""
        if self.ended:
            return False
        poll = select.poll()  # select() takes no descriptor above 1023
        poll.register(self.sock, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return True
        try:
            data = self.sock.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        if not data:
            self.ended = True
            return False
        for kind, body in self.splitter.feed(data):
            self.apply(kind, wire.decode(kind, body))
        self.consumed += len(data)
        if self.ack and not self.ended and self.consumed - self.acked >= self.ack_every:
            self.acknowledge()
        return True

    def acknowledge(self):
        self.acked = self.consumed
        try:
            self.send(wire.ACK, bytes=self.consumed)
        except OSError:
            pass  # the agent is gone; what it wrote is still read

    def until(self, condition, what="condition", seconds=60):
        end = time.monotonic() + seconds * PATIENCE
        while not condition():
            if not self.pump() and not condition():
                raise AssertionError(f"{what}: the agent closed first; errors {self.errors}")
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {seconds} s")
        return self

    def until_complete(self, seconds=60):
        """A whole state that is newer than this call."""
        before = self.completes
        return self.until(lambda: self.completes > before or self.final, "a complete tick", seconds)

    def until_final(self, seconds=60):
        return self.until(lambda: self.final, "the final tick", seconds)

    # --- model

    def apply(self, kind, v):
        self.kinds.append(kind)
        if self.final:
            raise WireError(f"{wire.NAMES.get(kind, kind)} after the final TICK")
        name = wire.NAMES.get(kind)
        method = getattr(self, "on_" + name.lower(), None) if name else None
        if method:
            method(v)

    def on_hello(self, v):
        self.hello = v

    def on_error(self, v):
        self.errors.append(v)

    def on_state(self, v):
        self.state = v

    def on_history(self, v):
        self.history = v

    def on_process(self, v):
        self.process = v

    def on_notice(self, v):
        self.notices.append(v["text"])

    def on_option(self, v):
        self.options[v["name"]] = v

    def on_filter(self, v):
        if v["index"] != len(self.filters):
            raise WireError(f"filter {v['index']} where {len(self.filters)} was due")
        if self.filters and v["since_ns"] < self.filters[-1]["since_ns"]:
            raise WireError("filters go back in time")
        self.filters.append(v)

    def on_weighed(self, v):
        for s in v["slots"]:
            if s["slot"] not in self.slots or s["slot"] in self.counts:
                raise WireError(f"slot {s['slot']} is weighed before it was named, or after its counts")
            self.weighed[s["slot"]] = s["sample"]

    def on_loss(self, v):
        self.losses[v["reason"]] = v

    def on_thread(self, v):
        self.threads[v["index"]] = v

    def on_module(self, v):
        self.modules[v["id"]] = v

    def on_scan_threads(self, v):
        self.scans[v["request"]] = v

    on_scan_ages = on_scan_memory = on_scan_threads

    def on_scan_cohorts(self, v):
        """All parts joined, once the last is here."""
        if v["flags"] & wire.PART_FIRST:
            self.cohorts = dict(v, parts=0, cohorts=[])
        elif self.cohorts["request"] != v["request"]:
            raise WireError("parts of two scans are mixed")
        self.cohorts["cohorts"] += v["cohorts"]
        self.cohorts["parts"] += 1
        if v["flags"] & wire.PART_LAST:
            self.scans[v["request"]] = self.cohorts

    @staticmethod
    def _forward(old, new):
        for key in zero():
            if old and new[key] < old[key]:
                raise WireError(f"{key} went back from {old[key]} to {new[key]}")
        if new["freed_blocks"] > new["allocated_blocks"] or new["freed_bytes"] > new["allocated_bytes"]:
            raise WireError(f"more freed than allocated: {new}")

    def on_totals(self, v):
        self._forward(self.totals, v)
        self.totals = v

    def on_nodes(self, v):
        for n in v["nodes"]:
            if n["parent"] not in self.nodes:
                raise WireError(f"node {n['id']} before its parent {n['parent']}")
            if "module" in n and n["module"] not in self.modules:
                raise WireError(f"node {n['id']} before its module {n['module']}")
            if n["id"] in self.nodes and self.nodes[n["id"]] != n:
                raise WireError(f"node {n['id']} changed")
            self.nodes[n["id"]] = n

    def on_slots(self, v):
        for s in v["slots"]:
            if s["node"] not in self.nodes:
                raise WireError(f"slot {s['id']} before its node {s['node']}")
            self.slots[s["id"]] = s

    def on_counts(self, v):
        for c in v["counts"]:
            if c["slot"] not in self.slots:
                raise WireError(f"counts before slot {c['slot']}")
            old = self.counts.get(c["slot"])
            self._forward(old, c)
            self.counts[c["slot"]] = c
            for key in self.sums:
                self.sums[key] += c[key] - (old[key] if old else 0)

    def on_mark(self, v):
        self.marks[v["id"]] = v
        if v["flags"] & 1:
            self._merge_dropped(v["id"])

    def _merge_dropped(self, mark):
        mine = self.mark_live.pop(mark, None)
        self.mark_done.discard(mark)
        later = [m for m in sorted(self.mark_live) if m > mark]
        if mine and later:
            merged = dict(mine)
            merged.update(self.mark_live[later[0]])
            self.mark_live[later[0]] = merged
        elif mine and mark < max(self.marks):
            self.mark_live.setdefault(min(m for m in self.marks if m > mark), {}).update(mine)

    def on_mark_live(self, v):
        if v["mark"] not in self.marks:
            raise WireError(f"live of mark {v['mark']} before the mark")
        entries = self.mark_live.setdefault(v["mark"], {})
        for e in v["live"]:
            if e["slot"] not in self.slots:
                raise WireError(f"mark names slot {e['slot']} before it was sent")
            entries[e["slot"]] = (e["blocks"], e["bytes"])
        if v["flags"] & 1:
            self.mark_done.add(v["mark"])

    def on_peak(self, v):
        if v["flags"] & wire.PART_FIRST:
            self.peak_parts = {}
        for c in v["counts"]:
            if c["slot"] not in self.slots:
                raise WireError(f"the peak names slot {c['slot']} before it was sent")
            self._forward(self.peak_counts.get(c["slot"]), c)
            self.peak_parts[c["slot"]] = c
        if v["flags"] & wire.PART_LAST:
            self._forward(self.peak, v)
            self.peak = v
            self.peak_counts.update(self.peak_parts)
            for key in zero():
                if sum(c[key] for c in self.peak_counts.values()) != v[key]:
                    raise WireError(f"the counters at the peak are not its {key}: {v[key]}")

    def on_tick(self, v):
        self.ticks += 1
        self.time_ns = v["time_ns"]
        if v["seq"] != self.ticks:
            raise WireError(f"tick {v['seq']} where {self.ticks} was due")
        self.complete = bool(v["flags"] & wire.TICK_COMPLETE)
        if self.complete:
            self.completes += 1
            self.check_sums()
        self.final = bool(v["flags"] & wire.TICK_FINAL)

    def inherited(self):
        """Of a fork: the counters of the slots that hold what it inherited, in sum."""
        old = [c for s, c in self.counts.items() if self.slots[s]["epoch"] < self.hello["first_epoch"]]
        return {key: sum(c[key] for c in old) for key in zero()}

    def check_sums(self):
        before = self.hello and self.hello.get("before")
        if before and self.hello["first_epoch"] is not None and wire.LOSS_SLOTS not in self.losses:
            now = self.inherited()
            for key, value in before.items():
                if now[key] != value and (key.startswith("allocated") or now[key] < value):
                    raise WireError(f"{key} of inherited blocks: {now[key]}, and {value} at the fork")
        for key, total in self.sums.items():
            if total != self.totals[key]:
                raise WireError(f"sum of slots: {key} {total}, TOTALS say {self.totals[key]}")

    # --- questions

    def live(self):
        t = self.totals
        return t["allocated_blocks"] - t["freed_blocks"], t["allocated_bytes"] - t["freed_bytes"]

    def slot_live(self, slot):
        c = self.counts.get(slot) or zero()
        return c["allocated_blocks"] - c["freed_blocks"], c["allocated_bytes"] - c["freed_bytes"]

    @staticmethod
    def live_of(counts):
        return counts["allocated_bytes"] - counts["freed_bytes"]

    def live_at(self, mark):
        """Slot -> (blocks, bytes) alive at the mark."""
        live = {}
        for m in sorted(self.mark_live):
            if m <= mark:
                live.update(self.mark_live[m])
        return {slot: v for slot, v in live.items() if v != (0, 0)}

    def diff(self, mark):
        """Stack (as node) -> born, gone, net bytes and blocks since the mark, without zeros."""
        base, epoch, out = self.live_at(mark), self.marks[mark]["epoch"], {}
        for slot, s in self.slots.items():
            now, then = self.slot_live(slot), base.get(slot, (0, 0))
            born, gone = ((0, 0), (0, 0))
            if s["epoch"] > epoch:
                born = now
            else:
                gone = (then[0] - now[0], then[1] - now[1])
            if born == (0, 0) and gone == (0, 0):
                continue
            row = out.setdefault(s["node"], [0, 0, 0, 0])
            for i in (0, 1):
                row[i] += born[i]
                row[2 + i] += gone[i]
        return {k: tuple(v) for k, v in out.items() if any(v)}

    def frames_of(self, node):
        """Innermost first: (module's base name, offset)."""
        out = []
        while node:
            n = self.nodes[node]
            path = self.modules[n["module"]]["path"] if "module" in n else "?"
            out.append((os.path.basename(path), n.get("offset", n.get("pc", n.get("reason")))))
            node = n["parent"]
        return out


def preload(options="", **environment):
    """Environment of a program that is watched."""
    env = {**os.environ, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": options, **environment}
    env.pop("MEMTOP_TOKEN", None) if "MEMTOP_TOKEN" not in environment else None
    return env


def run_watched(command, options="", environment=None, **named):
    """Popen with the agent; ended with the test. LD_PRELOAD is set in the child alone."""
    return start(command, env=preload(options, **(environment or {})), **named)


def agent_processes(pid):
    """Processes named as a server that share the executable of pid (for leftovers)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/comm", encoding="utf-8", errors="replace") as f:
                if f.read().strip() != "memtop-agent":
                    continue
            if int(entry) != pid:
                found.append(int(entry))
        except OSError:
            pass
    return found
