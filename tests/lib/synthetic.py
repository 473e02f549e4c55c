#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""synthetic.py - an agent without a target: serves fakeprog.Program over the wire of wire.h.

For tests of viewers only: it produces at will situations that a real target produces by chance.
Prints one line "listening ADDRESS" per socket (the real port for tcp:0), then "ready", then runs
until SIGTERM or --exit-after. Appends viewers' requests to --log, one JSON object per line.

    synthetic.py --listen tcp:0 --past 600 --past-marks 3
"""
import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fakeprog  # noqa: E402
import wire  # noqa: E402


COHORTS = 4000  # in a part of a scan


class Gone(Exception):
    """The viewer left, or broke the contract."""


class Viewer:
    """One connection: reads commands, sends what changed since it last took something."""

    def __init__(self, agent, reader, writer):
        self.agent, self.reader, self.writer = agent, reader, writer
        self.program = agent.program
        self.pending = set()       # slots whose counters changed since they were sent
        self.nodes, self.slots = bytearray(len(self.program.nodes)), set()
        self.modules = set()
        self.sent = self.acked = 0
        self.window = wire.WINDOW_MIN
        self.moved = asyncio.Event()  # an ACK came, or a tick passed
        self.loaded = False
        self.live_sent = 0
        self.queue = []            # frames to send with the next tick (marks, options, answers)
        self.who = "?"
        self.seq = 0

    async def send(self, data):
        while self.sent - self.acked >= self.window:
            self.moved.clear()
            await self.moved.wait()
        self.sent += len(data)
        self.writer.write(data)
        await self.writer.drain()

    async def frame(self, kind, **value):
        await self.send(wire.frame(kind, **value))

    # --- what the viewer says

    async def greet(self):
        a = self.agent.args
        self.writer.write(wire.greeting(a.version, a.version if a.version != wire.VERSION else 1))
        await self.writer.drain()
        theirs = await self.reader.readexactly(12)
        version, lowest = int.from_bytes(theirs[8:10], "little"), int.from_bytes(theirs[10:12], "little")
        if theirs[:8] != wire.MAGIC:
            raise Gone("no magic")
        if lowest > a.version or version < a.version:
            await self.frame(wire.ERROR, code=wire.E_VERSION,
                             text=f"this agent speaks protocol {a.version}, the viewer {lowest} to {version}")
            raise Gone("version")

    async def listen(self):
        splitter = wire.Splitter(65536)
        while True:
            data = await self.reader.read(65536)
            if not data:
                raise Gone("end of stream")
            for kind, body in splitter.feed(data):
                self.command(kind, wire.decode(kind, body))

    def command(self, kind, value):
        if kind == wire.ACK:
            self.window = min(wire.WINDOW_MAX, self.window + value["bytes"] - self.acked)
            self.acked = value["bytes"]
            self.moved.set()
            return
        self.agent.log(frame=wire.NAMES.get(kind, kind), viewer=self.who, **value)
        if kind == wire.CLIENT:
            self.who = value["who"] or "viewer"
            self.moved.set()
        elif kind == wire.SET_MARK:
            self.agent.mark(value["name"], self.who)
        elif kind in (wire.DROP_MARK, wire.RENAME_MARK):
            self.agent.change_mark(value["id"], value.get("name"))
        elif kind == wire.SET_OPTION:
            self.program.options[value["name"]] = value["value"]
            self.agent.tell(wire.frame(wire.OPTION, who=self.who, **value))
        elif kind == wire.SCAN:
            self.scan(value)
        elif kind == wire.DETACH and self.agent.args.last_walk:
            self.agent.over = dict(state=wire.DETACHED, status=0, time_ns=self.program.now_ns, known=1)
            self.moved.set()
        elif kind == wire.DETACH:
            raise Gone("detached")

    def scan(self, value):
        p = self.program
        blocks, size = p.totals[0] - p.totals[2], p.totals[1] - p.totals[3]
        by_thread = [dict(thread=i, blocks=max(0, t[2] - t[4]), bytes=max(0, t[3] - t[5]))
                     for i, t in p.threads.items()]
        if value["kind"] == 0:
            self.queue.append(wire.frame(wire.SCAN_THREADS, request=value["request"], threads=by_thread))
            return
        if value["kind"] == 2:
            self.queue.append(wire.frame(wire.SCAN_MEMORY, request=value["request"], time_ns=p.now_ns,
                                         parts=p.memory_parts()))
            return
        if value["kind"] == 3:
            cohorts = p.cohorts()
            for at in range(0, max(1, len(cohorts)), COHORTS):
                flags = (0 if at else wire.PART_FIRST) | (wire.PART_LAST if at + COHORTS >= len(cohorts) else 0)
                self.queue.append(wire.frame(wire.SCAN_COHORTS, request=value["request"], time_ns=p.now_ns, blocks=0,
                                             bytes=0, flags=flags, cohorts=cohorts[at:at + COHORTS]))
            return
        by_thread = p.live_by_thread(value["slots"] or range(1, len(p.slots)))
        blocks, size = sum(t["blocks"] for t in by_thread), sum(t["bytes"] for t in by_thread)
        ages = [dict(birth_ns=p.now_ns // 2, blocks=blocks, bytes=size)]
        self.queue.append(wire.frame(wire.SCAN_AGES, request=value["request"], blocks=blocks, bytes=size, ages=ages,
                                     sizes=[dict(log2=7, blocks=blocks, bytes=size)],
                                     threads=by_thread))

    # --- what it is told

    def totals(self):
        p, c = self.program, self.agent.args
        return wire.frame(wire.TOTALS, time_ns=p.now_ns, **p.counters(p.totals), peak_bytes=p.peak[0],
                          peak_error_bytes=65536, peak_time_ns=p.peak[1], agent_memory_bytes=c.agent_memory,
                          agent_cpu_ns=p.now_ns // 200, hook_ns=p.now_ns // 60, target_cpu_ns=p.now_ns // 2,
                          slots_total=len(p.slots) - 1, slots_sent=len(self.slots),
                          live_sent_bytes=self.live_sent if not self.loaded else p.totals[1] - p.totals[3])

    def process(self):
        p = self.program
        data = b"".join(wire.frame(wire.THREAD, index=i, tid=t[0], flags=0, name=t[1], **p.counters(t[2:]))
                        for i, t in p.threads.items())
        return data + wire.frame(wire.PROCESS, rss_bytes=p.rss(), virtual_bytes=p.rss() * 3,
                                 threads=len(p.threads), children=0)

    def tick_frame(self, flags):
        self.seq += 1
        return wire.frame(wire.TICK, seq=self.seq, time_ns=self.program.now_ns, flags=flags)

    def first(self):
        p, a = self.program, self.agent.args
        out = wire.frame(wire.HELLO, version=a.version, features=3, pid=a.pid, uid=os.getuid(),
                         start_unix_ns=self.agent.start_unix_ns, now_ns=p.now_ns, tick_ns=fakeprog.TICK_NS,
                         word_bits=64, arch="x86_64", exe=p.modules[0]["path"], agent_version=a.agent_version,
                         options=" ".join(f"{k}={v}" for k, v in p.options.items()),
                         args=["mapd", "--tiles", "/srv/tiles"])
        out += self.totals() + wire.frame(wire.STATE, state=wire.RUNNING, status=0, time_ns=0, known=1)
        for name, value in p.options.items():
            out += wire.frame(wire.OPTION, name=name, value=value, who="")
        for reason in range(6):
            out += wire.frame(wire.LOSS, reason=reason, events=0, bytes=0)
        map_bytes = a.agent_memory * 3 // 4
        out += wire.frame(wire.MEMORY, parts=[dict(name="live map", bytes=map_bytes),
                                              dict(name="stacks", bytes=a.agent_memory - map_bytes)])
        out += self.process()
        for m in p.marks:
            out += self.mark(m)
        out += self.sample_list()
        history = p.history_frame()
        out += self.modules_of(history["owners"])
        return out + wire.frame(wire.HISTORY, **history)

    @staticmethod
    def mark(m):
        return wire.frame(wire.MARK, **{k: m[k] for k, _ in wire.FRAMES[wire.MARK]})

    def mark_live(self, m):
        out, live = [], self.program.mark_live(m)
        for i in range(0, len(live) or 1, 8192):
            part = live[i:i + 8192]
            out.append(wire.frame(wire.MARK_LIVE, mark=m["id"], flags=int(i + 8192 >= len(live)), live=part))
        return out

    def modules_of(self, ids):
        out = b""
        for i in ids:
            if i not in self.modules:
                self.modules.add(i)
                out += wire.frame(wire.MODULE, **self.program.modules[i - 1])
        return out

    def introduce(self, slots):
        """MODULE, NODES and SLOTS frames that these slots need and this viewer has not got."""
        p, nodes, modules = self.program, [], []
        self.nodes.extend(bytes(len(p.nodes) - len(self.nodes)))
        fresh = [s for s in slots if s not in self.slots]
        for s in fresh:
            node = p.slots[s][0]
            while node and not self.nodes[node]:
                self.nodes[node] = 1
                nodes.append(node)
                entry = p.nodes[node]
                if entry[0] == wire.CODE:
                    modules.append(entry[2])
                node = entry[1]
        self.slots.update(fresh)
        out = self.modules_of(modules)
        if nodes:
            out += wire.frame(wire.NODES, nodes=[self.node_value(n) for n in sorted(nodes)])
        if fresh:
            out += wire.frame(wire.SLOTS, slots=[dict(id=s, node=p.slots[s][0], epoch=p.slots[s][1])
                                                 for s in sorted(fresh)])
        return out

    def node_value(self, n):
        kind, parent, *rest = self.program.nodes[n]
        value = dict(id=n, kind=kind, parent=parent)
        if kind == wire.CODE:
            value.update(module=rest[0], offset=rest[1])
        else:
            value["pc" if kind == wire.NOWHERE else "reason"] = rest[0]
        return value

    def counts(self, slots):
        p = self.program
        return [dict(slot=s, **p.counters(p.slots[s][2:])) for s in sorted(slots)]

    async def load(self):
        """The first state: heaviest slots first, fresh totals in between."""
        p = self.program
        order = sorted(range(1, len(p.slots)), key=lambda s: -p.live_of(s)[1])
        tick = p.tick_count
        step = 400
        for i in range(0, len(order), step):
            part = order[i:i + step]
            self.live_sent += sum(p.live_of(s)[1] for s in part)
            await self.send(self.introduce(part) + wire.frame(wire.COUNTS, counts=self.counts(part)))
            if p.tick_count != tick:
                tick = p.tick_count
                await self.send(self.totals() + self.tick_frame(0))
        for m in p.marks:  # and those that were set meanwhile
            await self.send(self.introduce(m["live"]) + self.mark(m))
            for part in self.mark_live(m):
                await self.send(part)
        self.samples_known = set()
        for data in self.new_samples():
            await self.send(data)
        self.loaded = True

    def sample_list(self):
        known = [name for name, _ in wire.FRAMES[wire.SAMPLES][1][1]]
        self.sample_serial = self.program.sample_serial
        return wire.frame(wire.SAMPLES, flags=0, samples=[{k: m[k] for k in known} for m in self.program.samples])

    def new_samples(self):
        """Those that this viewer has not got, after the list that names them."""
        out = [self.sample_list()]
        for m in self.program.samples:
            if m["serial"] in self.samples_known:
                continue
            self.samples_known.add(m["serial"])
            live = sorted(m["live"].items())
            for i in range(0, len(live) or 1, 8192):
                part = live[i:i + 8192]
                out.append(self.introduce([s for s, _ in part]) + wire.frame(
                    wire.SAMPLE_LIVE, serial=m["serial"], flags=int(i + 8192 >= len(live)),
                    live=[dict(slot=s, blocks=b, bytes=n) for s, (b, n) in part]))
        return out

    async def changes(self, flags):
        """One consistent step: everything that changed, then its TICK. Snapshot first, send after."""
        slots, self.pending = self.pending, set()
        queue, self.queue = self.queue, []
        counts, head = self.counts(slots), self.introduce(slots)
        if self.sample_serial != self.program.sample_serial:
            queue += self.new_samples()
        tail = self.totals() + self.process() + self.tick_frame(flags)
        for data in [*queue, head]:  # the queue may introduce what counts name
            await self.send(data)
        for i in range(0, len(counts), 2000):
            await self.frame(wire.COUNTS, counts=counts[i:i + 2000])
        await self.send(tail)

    async def last_walk(self):
        """Long after the end: TOTALS alone, which say how far it is (their last field)."""
        seconds = self.agent.args.last_walk
        for i in range(seconds):
            (_, body), = wire.Splitter().feed(self.totals())
            await self.send(wire.varint(wire.TOTALS) + wire.raw(body + wire.varint(0) + wire.varint(0) + wire.varint(1 + 100 * i // seconds)))
            await asyncio.sleep(1)

    async def talk(self):
        while self.who == "?":
            self.moved.clear()
            await self.moved.wait()
        await self.send(self.first())
        await self.send(self.tick_frame(0))
        await self.load()
        while True:
            tick = self.program.tick_count
            final = self.agent.over
            if final:
                await self.last_walk()
                for kind in (0, 2, 3):  # threads, memory, cohorts
                    self.scan(dict(kind=kind, request=0))
                self.queue.append(wire.frame(wire.STATE, **final))
            await self.changes(wire.TICK_COMPLETE | (wire.TICK_FINAL if final else 0))
            if final:
                return
            while self.program.tick_count == tick and not self.agent.over and not self.queue:
                self.moved.clear()
                await self.moved.wait()


class Agent:
    def __init__(self, args):
        self.args, self.viewers, self.over = args, set(), None
        self.program = fakeprog.Program(args.elf, swap=args.swap, paths=args.paths, sites=not args.no_story,
                                        empty=args.empty, wide=args.wide, libraries=args.libraries, threads=args.threads,
                                        huge=args.huge, pid=args.pid)
        ticks = round(args.past * 10)
        for i in range(max(1, ticks)):
            self.program.tick()
            if args.past_marks and i + 1 < ticks and (i + 1) % (ticks // (args.past_marks + 1)) == 0 \
                    and len(self.program.marks) < args.past_marks:
                self.program.set_mark("", "synthetic")
        self.start_unix_ns = time.time_ns() - self.program.now_ns
        if args.ended:
            self.over = dict(state=wire.EXITED, status=args.exit_status, time_ns=self.program.now_ns, known=1)
        self.log_file = open(args.log, "a") if args.log else None

    def log(self, **entry):
        if self.log_file:
            print(json.dumps(entry, default=repr), file=self.log_file, flush=True)

    def tell(self, data):
        for v in self.viewers:
            v.queue.append(data)
            v.moved.set()

    def mark(self, name, who):
        m = self.program.set_mark(name, who)
        for v in self.viewers:
            if v.loaded:  # else load() tells it; live at the mark names slots: introduce them first
                v.queue += [v.introduce(m["live"]) + v.mark(m), *v.mark_live(m)]
                v.moved.set()

    def change_mark(self, number, name):
        for m in self.program.marks:
            if m["id"] == number:
                if name is None:
                    m["flags"] |= 1
                else:
                    m["name"] = name
                self.tell(Viewer.mark(m))

    async def serve(self, reader, writer):
        viewer = Viewer(self, reader, writer)
        try:
            if self.args.garbage:
                await garbage(self.args.garbage, reader, writer)
                return
            if self.args.cut is not None:
                writer = viewer.writer = Cutter(writer, self.args.cut)
            await viewer.greet()
            listener = asyncio.ensure_future(viewer.listen())
            self.viewers.add(viewer)
            talker = asyncio.ensure_future(viewer.talk())
            await asyncio.wait([listener, talker], return_when=asyncio.FIRST_COMPLETED)
            if talker.done() and not talker.exception():
                # closing with ACKs unread would reset the connection and lose the final frames
                writer.write_eof()
                await asyncio.wait([listener], timeout=2)
            listener.cancel()
            talker.cancel()
            for why in await asyncio.gather(talker, listener, return_exceptions=True):
                if isinstance(why, Exception):
                    raise why
        except (Gone, ConnectionError, asyncio.IncompleteReadError, wire.WireError) as why:
            self.log(gone=str(why))
        finally:
            self.viewers.discard(viewer)
            writer.close()

    async def run(self):
        a, p = self.args, self.program
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        servers = [await listen(where, self.serve) for where in a.listen]
        print("ready", flush=True)
        ticker = asyncio.ensure_future(self.tick_on(stop))
        await stop.wait()
        ticker.cancel()
        for v in list(self.viewers):
            v.moved.set()
        deadline = time.monotonic() + 3
        while self.over and self.viewers and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for s in servers:
            s.close()

    async def tick_on(self, stop):
        a, p = self.args, self.program
        if a.ended:
            return
        started = p.tick_count
        due = time.monotonic()
        dropped = False
        while True:
            due += 0.1 / a.speed
            await asyncio.sleep(max(0, due - time.monotonic()))
            if a.still:
                p.tick_count += 1
                changed = set()
            else:
                changed = p.tick()
            for v in self.viewers:
                v.pending |= changed
                v.moved.set()
            gone = (p.tick_count - started) / 10
            if a.drop_after and gone >= a.drop_after and self.viewers and not dropped:
                dropped = True
                for v in self.viewers:
                    v.writer.close()
            if a.exit_after and gone >= a.exit_after and not self.over:
                state = wire.SIGNALLED if a.exit_signal else wire.EXITED
                self.over = dict(state=state, status=a.exit_signal or a.exit_status, time_ns=p.now_ns, known=1)
                stop.set()
                return


class Cutter:
    """A writer that closes the connection after so many bytes."""

    def __init__(self, writer, limit):
        self.writer, self.left = writer, limit

    def write(self, data):
        self.writer.write(data[:self.left])
        self.left -= min(self.left, len(data))

    async def drain(self):
        await self.writer.drain()
        if not self.left:
            self.writer.close()
            raise Gone("cut")

    def close(self):
        self.writer.close()


async def garbage(mode, reader, writer):
    """What may sit behind a port instead of an agent."""
    if mode == "http":
        await reader.read(1)  # an HTTP server says nothing before it is asked
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    elif mode in ("zeros", "noise"):
        noise = random.Random(1)
        while True:
            writer.write(bytes(65536) if mode == "zeros" else noise.randbytes(65536))
            await writer.drain()
    elif mode == "frames":  # a right greeting, then noise
        writer.write(wire.greeting())
        await reader.readexactly(12)
        writer.write(random.Random(2).randbytes(65536))
    elif mode == "silent":
        await reader.read()
    await writer.drain()


async def listen(where, serve):
    if where.startswith("tcp:"):
        server = await asyncio.start_server(serve, "127.0.0.1", int(where[4:]))
        where = f"tcp:{server.sockets[0].getsockname()[1]}"
    else:
        where = where.replace("%p", str(os.getpid()))
        path = "\0" + where[1:] if where.startswith("@") else where.removeprefix("unix:")
        server = await asyncio.start_unix_server(serve, path)
    print("listening", where, flush=True)
    return server


def arguments(argv):
    a = argparse.ArgumentParser()
    a.add_argument("--listen", action="append", help="tcp:PORT, @NAME or unix:PATH; %%p is the pid")
    a.add_argument("--elf", default=os.path.join(os.environ.get("BUILD", "build/release"), "tests/synthetic"))
    a.add_argument("--past", type=float, default=60, help="seconds that it has run before anyone looks")
    a.add_argument("--past-marks", type=int, default=0, help="marks set on the way")
    a.add_argument("--still", action="store_true", help="nothing changes any more")
    a.add_argument("--ended", action="store_true", help="the program ended when its past did: all that is shown stands still")
    a.add_argument("--pid", type=int, default=os.getpid(), help="that it says it has")
    a.add_argument("--empty", action="store_true", help="nothing was allocated yet")
    a.add_argument("--no-story", action="store_true", help="only --swap and --paths allocate")
    a.add_argument("--speed", type=float, default=1, help="ticks come so many times faster")
    a.add_argument("--swap", action="store_true", help="24 siblings, pairs of which swap sizes every tick")
    a.add_argument("--paths", type=int, default=0, help="so many distinct call paths")
    a.add_argument("--wide", type=int, default=0, help="so many siblings under one row")
    a.add_argument("--libraries", type=int, default=0, help="so many more, each with a site")
    a.add_argument("--threads", type=int, default=0, help="so many more, each with a site")
    a.add_argument("--huge", action="store_true", help="sums near 2^62")
    a.add_argument("--exit-after", type=float, default=0, help="the program ends after so many seconds")
    a.add_argument("--last-walk", type=int, default=0, help="it can be detached, and then reads its blocks for so many seconds")
    a.add_argument("--exit-status", type=int, default=0)
    a.add_argument("--exit-signal", type=int, default=0)
    a.add_argument("--drop-after", type=float, default=0, help="the link drops once, the agent stays")
    a.add_argument("--agent-version", default="synthetic")
    a.add_argument("--version", type=int, default=wire.VERSION, help="speak another protocol version")
    a.add_argument("--garbage", choices=["http", "zeros", "noise", "frames", "silent", "close"])
    a.add_argument("--cut", type=int, help="close after so many bytes")
    a.add_argument("--agent-memory", type=int, default=1_992_294)
    a.add_argument("--log", help="append what viewers ask, as JSON lines")
    args = a.parse_args(argv)
    args.listen = args.listen or ["tcp:0"]
    return args


if __name__ == "__main__":
    asyncio.run(Agent(arguments(sys.argv[1:])).run())
