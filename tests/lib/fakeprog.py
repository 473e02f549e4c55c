# SPDX-License-Identifier: MIT
"""fakeprog.py - a made-up program whose heap follows known curves, for tests of viewers.

Every figure is a function of the tick number (ten a second) and of the switches, so that a test can
build the same Program and know them all. Its modules are real ELF files with DWARF, compiled by gcc
from sources written here, so names, lines and source text resolve. As in real programs, one
module's path does not exist, one frame lies in no module, and one stack is truncated.

Invariants: all blocks of a site have one size; live(site, tick) is its curve; frees take the oldest
blocks first, or the newest for churn within a tick; a mark advances the epoch, so each slot =
(node, epoch) counts only blocks born in that epoch.
"""
import hashlib
import math
import os
import subprocess

import wire

TICK_NS = 100_000_000
PATH_FUNCTIONS = 200

# module -> source -> functions (an entry "name=label" gives the symbol another name)
SOURCES = {
    "mapd": {
        "serve.c": ["main", "loop", "serve_tile", "load_config", "reader_run"]
                   + [f"sibling_{i:02}" for i in range(24)],
        "cache.c": ["tile_cache_put", "tile_cache_evict"],
        "log.c": ["logger_run", "log_line"],
        "index.cc.c": ["grow=_ZN5Index4growEv", "push=_ZNSt6vectorI4TileSaIS0_EE9push_backERKS0_"],
    },
    "libtile.so.2": {"tile.c": ["tile_decode"], "vertex.c": ["new_vertex_array"], "png.c": ["png_read_row"]},
    "libsqlite3.so.0": {"sqlite3.c": ["sqlite3_step", "sqlite3VdbeExec", "pcache1Alloc"]},
    "libc.so.6": {"libc.c": ["start_thread", "strdup"]},
    "libstdc++.so.6": {"new_op.c": ["new=_Znwm"]},
    "libpaths.so": {"paths.c": [f"f_{i:03}" for i in range(PATH_FUNCTIONS)]},
}
FLAGS = {"mapd": wire.MODULE_MAIN, "libc.so.6": wire.MODULE_LIBC | wire.MODULE_ALLOC,
         "libstdc++.so.6": wire.MODULE_CXX, "libmemtop-agent.so": wire.MODULE_AGENT}
UNRESOLVED = "libvendor.so.1"


def source_text(functions):
    lines = ["/* made for tests */"]
    for name in functions:
        plain, _, label = name.partition("=")
        if label:
            lines.append(f'void {plain}(void) __asm__("{label}");')
        lines += [f"void {plain}(void)", "{", "\tvolatile int used = 0;", "\tused += 1;",
                  "\tused += 2; /* the call that allocates */", "\tused += 3;", "}", ""]
    return "\n".join(lines)


def build_modules(folder):
    """Compile SOURCES into folder (kept when unchanged); returns {module: (path, build_id, {symbol: pc})}."""
    digest = hashlib.sha256(repr(SOURCES).encode() + source_text(["x"]).encode()).hexdigest()[:12]
    folder = os.path.join(os.path.abspath(folder), digest)
    os.makedirs(folder, exist_ok=True)
    found = {}
    for module, sources in SOURCES.items():
        path = os.path.join(folder, module)
        if not os.path.exists(path):
            for source, functions in sources.items():
                with open(os.path.join(folder, source), "w") as f:
                    f.write(source_text(functions))
            temporary = f"{path}.{os.getpid()}"
            subprocess.run(["gcc", "-shared", "-fPIC", "-g", "-O0", "-w", "-nostdlib", "-fno-builtin",
                            "-fcf-protection=none", "-Wl,--build-id=sha1", "-o", temporary, *sources],
                           cwd=folder, check=True)
            os.rename(temporary, path)
        found[module] = (path, read_build_id(path), read_symbols(path))
    return found


def read_build_id(path):
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(out.split("Build ID:")[1].split()[0])


def read_symbols(path):
    """Symbol -> a return address behind the line that says "the call that allocates"."""
    dump = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True,
                          check=True).stdout
    pcs, name, adds = {}, None, 0
    for line in dump.splitlines():
        if line.endswith(">:"):
            name, adds = line.split("<")[1][:-2], 0
        elif name and "\tadd " in line.replace("add    ", "add "):
            adds += 1
        elif name and adds == 2 and name not in pcs:
            pcs[name] = int(line.split(":")[0], 16)
    return pcs


class Site:
    """One allocating stack. curve(seconds) -> live blocks; churn: blocks allocated and freed each tick."""

    def __init__(self, node, size, curve, churn=0, thread=1):
        self.node, self.size, self.curve, self.churn, self.thread = node, size, curve, churn, thread
        self.live = 0
        self.queue = []  # [slot, live blocks], oldest first


class Program:
    def __init__(self, folder, swap=False, paths=0, sites=True, empty=False, wide=0, libraries=0, threads=0, huge=False, pid=0):
        self.tick_count = 0
        self.epoch = 0
        self.modules, self.module_ids, self.symbols = [], {}, {}
        self.nodes, self.node_ids = [None], {}
        self.slots, self.slot_ids = [None], {}  # [node, epoch, allocated blocks, bytes, freed blocks, bytes]
        self.totals = [0, 0, 0, 0]
        self.peak = (0, 0)
        self.marks, self.history = [], []
        self.samples, self.sample_serial, self.sample_interval_ns, self.next_sample_ns = [], 0, 1_250_000_000, 0
        self.unsampled, self.lows = set(), [0, 0, 0]
        self.threads = {1: [pid or os.getpid(), "mapd", 0, 0, 0, 0], 2: [(pid or os.getpid()) + 1, "logger", 0, 0, 0, 0]}
        self.options = {"unwind": "cfi", "depth": "256", "min_size": "0", "sample": "0"}
        self._add_modules(build_modules(folder))
        self.sites, self.path_sites = [], []
        if sites and not empty:
            self._add_story()
        if swap:
            self._add_siblings()
        if paths:
            self._add_paths(paths)
        if wide:
            self._add_wide(wide)
        if libraries:
            self._add_libraries(libraries)
        if threads:
            self._add_threads(threads)
        if huge:
            self._add_huge()

    # --- what it is made of

    def _add_modules(self, built):
        paths = {UNRESOLVED: ("/opt/vendor/lib/" + UNRESOLVED, bytes(range(20)), {"?": 0x1a40}),
                 "libmemtop-agent.so": ("/usr/local/lib/memtop/libmemtop-agent.so", b"", {})}
        for number, (name, (path, build_id, symbols)) in enumerate({**built, **paths}.items(), 1):
            start = 0x5500_0000_0000 + number * 0x1000_0000
            self.module_ids[name] = number
            self.symbols[name] = symbols
            self.modules.append(dict(id=number, flags=FLAGS.get(name, 0), load_bias=start, start=start,
                                     end=start + 0x100000, loaded_ns=0, unloaded_ns=0, build_id=build_id,
                                     path=path))

    def node(self, parent, module, symbol):
        key = (parent, module, symbol)
        if key not in self.node_ids:
            if module is None:
                entry = (wire.NOWHERE, parent, symbol)
            elif module == "truncated":
                entry = (wire.TRUNCATED, 0, symbol)
            else:
                entry = (wire.CODE, parent, self.module_ids[module], self.symbols[module][symbol])
            self.node_ids[key] = len(self.nodes)
            self.nodes.append(entry)
        return self.node_ids[key]

    def stack(self, *frames):
        """Outermost first; a frame is "module:symbol", "module" once for those that follow."""
        node, module = 0, "mapd"
        for frame in frames:
            if isinstance(frame, str):
                head, _, tail = frame.rpartition(":")
                module = head or module
                node = self.node(node, module, tail)
            else:
                node = self.node(node, *frame)
        return node

    def _add_story(self):
        serve = ("main", "loop", "serve_tile")
        add = self.sites.append
        add(Site(self.stack(*serve, "libtile.so.2:tile_decode", "new_vertex_array"), 136,
                 lambda t: 4000 + int(295 * t), churn=700))                            # the leak
        add(Site(self.stack(*serve, "libtile.so.2:tile_decode", "png_read_row"), 4096,
                 lambda t: 120 + int(0.3 * t), churn=20))                               # a slow leak
        add(Site(self.stack(*serve, "mapd:tile_cache_put"), 2048,
                 lambda t: int(9000 * (1 - math.exp(-t / 90))), churn=50))              # a warming cache
        add(Site(self.stack("libc.so.6:start_thread", "mapd:logger_run", "log_line"), 96,
                 lambda t: int(t * 10) % 300 * 10, churn=400, thread=2))                # a saw-tooth
        add(Site(self.stack(*serve, "libsqlite3.so.0:sqlite3_step", "sqlite3VdbeExec", "pcache1Alloc"), 4368,
                 lambda t: 2600, churn=12))                                            # flat
        add(Site(self.stack("main", "load_config", "libc.so.6:strdup"), 48, lambda t: 1000))
        add(Site(self.stack("main", "loop", "_ZN5Index4growEv",
                            "_ZNSt6vectorI4TileSaIS0_EE9push_backERKS0_", "libstdc++.so.6:_Znwm"), 1 << 20,
                 lambda t: 4 if t < 30 else 12))                                       # a step at 0:30
        add(Site(self.stack("main", f"{UNRESOLVED}:?"), 512, lambda t: 200, churn=3))
        add(Site(self.stack("main", "loop", (None, 0x7f00_dead_beef)), 64, lambda t: 50))
        add(Site(self.stack(("truncated", 1), "libsqlite3.so.0:pcache1Alloc"), 256, lambda t: 40))

    def _add_siblings(self):
        """24 children of one row; each pair (2k, 2k+1) swaps its sizes every tick."""
        for i in range(24):
            low, high = 1000 + 100 * (i // 2), 1050 + 100 * (i // 2)
            self.sites.append(Site(self.stack("main", "loop", f"sibling_{i:02}"), 1024,
                                   lambda t, i=i, low=low, high=high:
                                   high if (round(t * 10) + i) % 2 else low))

    def _add_paths(self, count):
        """Distinct stacks main > four digits of the number > leaf; sizes fall like 1/n, so that a top ten exists."""
        main = self.stack("main")
        for i in range(count):
            prefix, digit = divmod(i, 10)
            node, rest = main, prefix
            for level in range(4):
                rest, d = divmod(rest, 10)
                node = self.node(node, "libpaths.so", f"f_{level * 10 + d:03}")
            if rest:
                node = self.node(node, "libpaths.so", f"f_{40 + rest % 10:03}")
                node = self.node(node, "libpaths.so", f"f_{100 + rest // 10:03}")
            leaf = self.node(node, "libpaths.so", f"f_{50 + (prefix * 7 + digit * 15) % 150:03}")
            rank = (i * 7919) % count + 1
            site = Site(leaf, 64, lambda t, live=max(1, 4_000_000 // rank): live)
            self.path_sites.append(site)

    def _site_in(self, module, offset, size, blocks, thread=1):
        """main > an address of a module; nobody has a name for it."""
        main = self.stack("main")
        node = len(self.nodes)
        self.nodes.append((wire.CODE, main, module, offset))
        site = Site(node, size, lambda t: blocks, thread=thread)
        self.sites.append(site)
        return site

    def _add_wide(self, count):
        """So many siblings under main, of sizes that fall from the first to the last."""
        for i in range(count):
            self._site_in(self.module_ids[UNRESOLVED], 0x10000 + 16 * i, 16, 2 * count - i)

    def _add_libraries(self, count):
        for i in range(count):
            number, start = len(self.modules) + 1, 0x6600_0000_0000 + i * 0x100000
            self.modules.append(dict(id=number, flags=0, load_bias=start, start=start, end=start + 0x10000, loaded_ns=0,
                                     unloaded_ns=0, build_id=b"", path=f"/opt/many/libplug{i:04}.so"))
            self._site_in(number, 0x1000, 1024, count - i)

    def _add_threads(self, count):
        for i in range(count):
            self.threads[3 + i] = [os.getpid() + 3 + i, f"worker-{i:04}", 0, 0, 0, 0]
            self._site_in(self.module_ids[UNRESOLVED], 0x800000 + 16 * i, 64, count - i, thread=3 + i)

    def _add_huge(self):
        """Two sites that come to 2^62 bytes, a tenth of a second after the start: as much as a sum of either sign can hold."""
        self.sites.append(Site(self.stack("main", "sibling_00"), 1 << 40, lambda t: (1 << 21) * (t > 0)))
        self.sites.append(Site(self.stack("main", "sibling_01"), 1, lambda t: (1 << 61) * (t > 0)))

    # --- time

    @property
    def now_ns(self):
        return self.tick_count * TICK_NS

    def _book(self, site, slot, allocated, freed):
        counters = self.slots[slot]
        size = site.size
        deltas = (allocated, allocated * size, freed, freed * size)
        thread = self.threads[site.thread]
        for i, d in enumerate(deltas):
            counters[2 + i] += d
            self.totals[i] += d
            thread[2 + i] += d

    def _slot(self, site):
        key = (site.node, self.epoch)
        if key not in self.slot_ids:
            self.slot_ids[key] = len(self.slots)
            self.slots.append([site.node, self.epoch, 0, 0, 0, 0])
        return self.slot_ids[key]

    def _step(self, site, changed, seconds):
        want = site.curve(seconds)
        grow = want - site.live
        if not grow and not site.churn:
            return
        slot = self._slot(site)
        born = max(0, grow)
        self._book(site, slot, born + site.churn, site.churn)
        changed.add(slot)
        if born:
            if site.queue and site.queue[-1][0] == slot:
                site.queue[-1][1] += born
            else:
                site.queue.append([slot, born])
        gone = max(0, -grow)
        while gone:
            oldest = site.queue[0]
            n = min(gone, oldest[1])
            self._book(site, oldest[0], 0, n)
            changed.add(oldest[0])
            oldest[1] -= n
            gone -= n
            if not oldest[1]:
                site.queue.pop(0)
        site.live = want

    def tick(self):
        """One tenth of a second passes; returns the slots that changed."""
        seconds, changed = self.tick_count / 10, set()
        for site in self.sites:
            self._step(site, changed, seconds)
        if self.path_sites:
            if not self.tick_count:
                for site in self.path_sites:
                    self._step(site, changed, seconds)
            else:  # a few hundred paths are busy, never the same two ticks running
                n = len(self.path_sites)
                for k in range(min(n, 300)):
                    site = self.path_sites[(self.tick_count * 104729 + k * 31) % n]
                    slot = self._slot(site)
                    self._book(site, slot, 1, 1)
                    changed.add(slot)
        self.tick_count += 1
        live = self.totals[1] - self.totals[3]
        if live > self.peak[0]:
            self.peak = (live, self.now_ns)
        if self.tick_count % 10 == 0:
            self._remember()
        self._sample(changed, live)
        return changed

    # --- samples, as agent/collect/samples.c takes them

    SAMPLES, LAST_INTERVAL_NS = 32, 20 * 10**9

    def _sample(self, changed, live):
        self.unsampled |= changed
        self.lows = [min(self.lows[0], live), max(self.lows[1], live), max(self.lows[2], max(self.lows[1], live) - live)]
        if self.now_ns < self.next_sample_ns:
            return
        if len(self.samples) == self.SAMPLES:
            self._thin()
        self.sample_serial += 1
        self.samples.append(dict(serial=self.sample_serial, time_ns=self.now_ns, live_bytes=live, low_bytes=self.lows[0],
                                 fall_bytes=self.lows[2], rss_bytes=self.rss(),
                                 live={s: self.live_of(s) for s in self.unsampled}))
        self.unsampled, self.lows = set(), [live, live, 0]
        step = self.sample_interval_ns
        self.next_sample_ns = (self.now_ns // step + 1) * step + self.sample_serial * 2654435761 % 1000 * step // 1000

    def _thin(self):
        doubles = self.sample_interval_ns < self.LAST_INTERVAL_NS
        kept = []
        for i, sample in enumerate(self.samples):
            if i % 2 == 0 if doubles else i < 4:
                into = self.samples[i + 1]
                into["live"] = {**sample["live"], **into["live"]}
                into["low_bytes"] = min(into["low_bytes"], sample["low_bytes"])
                into["fall_bytes"] = max(into["fall_bytes"], sample["fall_bytes"])
            else:
                kept.append(sample)
        self.samples = kept
        self.sample_interval_ns *= 2 if doubles else 1

    # --- marks, history, figures

    def live_of(self, slot):
        c = self.slots[slot]
        return c[2] - c[4], c[3] - c[5]

    def live_by_thread(self, slots):
        """Of these slots: a slot's blocks are all of the thread of its site."""
        threads = {site.node: site.thread for site in self.sites}
        sums = {}
        for s in slots:
            blocks, size = self.live_of(s)
            t = sums.setdefault(threads.get(self.slots[s][0], 1), [0, 0])
            t[0] += blocks
            t[1] += size
        return [dict(thread=t, blocks=blocks, bytes=size) for t, (blocks, size) in sorted(sums.items())]

    def cohorts(self):
        """The slot's number determines the thread and the age of its blocks."""
        return [dict(slot=s, thread=1 + s % 2, age_s=(3, 40, 400)[s % 3], blocks=blocks, bytes=size)
                for s, (blocks, size) in ((s, self.live_of(s)) for s in range(1, len(self.slots))) if blocks]

    def memory_parts(self):
        """Of what rss() consists: live blocks, rounding, free lists (the rest), files, stacks, the agent."""
        live = self.totals[1] - self.totals[3]
        parts = [(0, "", live, 0), (1, "", live // 30, 0), (3, "/opt/vendor/lib/" + UNRESOLVED, 5 << 20, 4),
                 (3, "/usr/lib/libc.so.6", 2 << 20, 5), (3, "", 300_000, 9), (5, "", 1 << 20, 8), (6, "", 900_000, 12)]
        rest = max(0, self.rss() - sum(p[2] for p in parts))
        return [dict(zip(("what", "name", "bytes", "mappings"), p)) for p in [*parts, (2, "", rest, 3)]]

    def rss(self):
        return (self.totals[1] - self.totals[3]) * 5 // 4 + (20 << 20)

    def set_mark(self, name, who):
        taken = {m["name"] for m in self.marks} | {"start", "peak", "end", "now"}
        unique, n = name, 2
        while unique and unique in taken:
            unique, n = f"{name}-{n}", n + 1
        mark = dict(id=len(self.marks) + 1, epoch=self.epoch, flags=0, time_ns=self.now_ns, name=unique,
                    set_by=who, rss_bytes=self.rss(), **self.counters(self.totals))
        mark["live"] = {s: self.live_of(s) for s in range(1, len(self.slots))}
        self.marks.append(mark)
        self.epoch += 1
        return mark

    def mark_live(self, mark):
        """What MARK_LIVE carries: live at the mark where it differs from the mark before (not dropped)."""
        before = {}
        for m in self.marks:
            if m is mark:
                break
            if not m["flags"]:
                before = m["live"]
        return [dict(slot=s, blocks=b, bytes=n) for s, (b, n) in sorted(mark["live"].items())
                if before.get(s, (0, 0)) != (b, n)]

    @staticmethod
    def counters(c):
        return dict(allocated_blocks=c[0], allocated_bytes=c[1], freed_blocks=c[2], freed_bytes=c[3])

    OWNERS = ("mapd", "libtile.so.2", "libsqlite3.so.0", UNRESOLVED)

    def owner_of(self, node):
        hidden = {self.module_ids[n] for n in ("libc.so.6", "libstdc++.so.6", "libmemtop-agent.so")}
        while node:
            entry = self.nodes[node]
            if entry[0] == wire.CODE and entry[2] not in hidden:
                return entry[2]
            node = entry[1]
        return 0

    def _remember(self):
        owners = {self.module_ids[n]: 0 for n in self.OWNERS}
        for site in self.sites:
            owner = self.owner_of(site.node)
            if owner in owners:
                owners[owner] += site.live * site.size
        a, t = self.totals, self.now_ns
        self.history.append(dict(time_ns=t, live_bytes=a[1] - a[3], live_blocks=a[0] - a[2], allocated_bytes=a[1],
                                 allocated_blocks=a[0], freed_blocks=a[2], rss_bytes=self.rss(),
                                 owner_bytes=list(owners.values())))

    def history_frame(self):
        step = 1
        while len(self.history) // step > 600:
            step *= 2
        return dict(interval_ns=step * 10 * TICK_NS, owners=[self.module_ids[n] for n in self.OWNERS],
                    points=self.history[step - 1::step])
