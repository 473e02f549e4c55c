#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""golden.py - one frame of each type with explicit values; the bytes lie beside it as v1_NAME.bin, of those that came
with protocol version 2 as v2_NAME.bin.

    golden.py          compares the files with the values, both ways (PASS/FAIL lines)
    golden.py write    writes files that are missing; never changes one that is there

The files are the contract of a protocol version: once it is released they do not change, and a
later version gets files of its own. tests/unit/backend/wire/test_golden.c reads the same files.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import wire  # noqa: E402

BIG = (1 << 64) - 1
COUNTERS = dict(allocated_blocks=1000, allocated_bytes=1 << 40, freed_blocks=999, freed_bytes=(1 << 40) - 64)

VALUES = {
    "HELLO": dict(version=1, features=5, pid=4121, uid=1000, start_unix_ns=1_700_000_000_123_456_789,
                  now_ns=849_000_000_000, tick_ns=100_000_000, word_bits=64, arch="x86_64",
                  exe="/usr/bin/mapd", agent_version="0.1.0", options="unwind=cfi depth=64",
                  args=["mapd", "--tiles", "\u00e4 b", ""]),
    "ERROR": dict(code=wire.E_VERSION, text="no common protocol version"),
    "TOTALS": dict(time_ns=1 << 33, **COUNTERS, peak_bytes=128, peak_error_bytes=65536, peak_time_ns=300,
                   agent_memory_bytes=1_992_294, agent_cpu_ns=16_384, hook_ns=127, target_cpu_ns=BIG,
                   slots_total=1208, slots_sent=1207, live_sent_bytes=63),
    "TICK": dict(seq=300, time_ns=30_000_000_000, flags=wire.TICK_COMPLETE | wire.TICK_FINAL),
    "STATE": dict(state=wire.SIGNALLED, status=11, time_ns=31_000_000_000, known=1),
    "MODULE": dict(id=65535, flags=wire.MODULE_LIBC | wire.MODULE_ALLOC, load_bias=0x7fff_f7c0_0000,
                   start=0x7fff_f7c0_0000, end=0x7fff_f7e0_0000, loaded_ns=1, unloaded_ns=0,
                   build_id=bytes(range(235, 255)), path="/lib/x86_64-linux-gnu/libc.so.6"),
    "NODES": dict(nodes=[dict(id=1, kind=wire.CODE, parent=0, module=1, offset=0x1a40),
                         dict(id=2, kind=wire.SIGNAL, parent=1, module=2, offset=0),
                         dict(id=300, kind=wire.NOWHERE, parent=2, pc=0x7f00_dead_beef),
                         dict(id=(1 << 26) - 1, kind=wire.TRUNCATED, parent=0, reason=3)]),
    "SLOTS": dict(slots=[dict(id=1, node=300, epoch=0), dict(id=(1 << 24) - 1, node=1, epoch=4096)]),
    "COUNTS": dict(counts=[dict(slot=1, **COUNTERS),
                           dict(slot=(1 << 24) - 1, allocated_blocks=BIG, allocated_bytes=BIG, freed_blocks=0,
                                freed_bytes=0)]),
    "THREAD": dict(index=16383, tid=4122, flags=1, name="io-2", **COUNTERS),
    "PROCESS": dict(rss_bytes=131 << 20, virtual_bytes=1 << 37, threads=8, children=4),
    "MARK": dict(id=4095, epoch=128, flags=wire.TICK_COMPLETE, time_ns=529_000_000_000, name="after 2k tiles",
                 set_by="script", **COUNTERS, rss_bytes=126 << 20),
    "MARK_LIVE": dict(mark=4095, flags=1, live=[dict(slot=2, blocks=0, bytes=0),
                                                dict(slot=130, blocks=104_858, bytes=14_260_688)]),
    "HISTORY": dict(interval_ns=1_000_000_000, owners=[1, 2],
                    points=[dict(time_ns=1_000_000_000, live_bytes=100, live_blocks=10, allocated_bytes=1000,
                                 allocated_blocks=90, freed_blocks=80, rss_bytes=7 << 20, owner_bytes=[60, 40]),
                            dict(time_ns=2_000_000_000, live_bytes=300, live_blocks=11, allocated_bytes=BIG,
                                 allocated_blocks=91, freed_blocks=80, rss_bytes=8 << 20, owner_bytes=[0, 300])]),
    "LOSS": dict(reason=3, events=2, bytes=4096),
    "OPTION": dict(name="depth", value="128", who="viewer 2"),
    "NOTICE": dict(text="sampling changed to 64k"),
    "SCAN_THREADS": dict(request=7, threads=[dict(thread=0, blocks=1, bytes=2), dict(thread=200, blocks=3, bytes=4)]),
    "SCAN_AGES": dict(request=8, blocks=5, bytes=680, ages=[dict(birth_ns=100_000_000, blocks=5, bytes=680)],
                      sizes=[dict(log2=0, blocks=1, bytes=0), dict(log2=7, blocks=4, bytes=680)],
                      threads=[dict(thread=1, blocks=5, bytes=680)]),
    "STACKS": dict(allocations=BIG, captures=70_000, whole=12, frames=210_000, pc_misses=300, edge_misses=0),
    "FILTER": dict(index=2, since_ns=14_000_000_000, sample=65536, min_size=64, max_size=1 << 20, merge=8,
                   libs="ssl|crypto", exclude="^libX", who="viewer 2"),
    "WEIGHED": dict(slots=[dict(slot=3, sample=65536), dict(slot=(1 << 24) - 1, sample=1 << 40)]),
    "MEMORY": dict(parts=[dict(name="live map", bytes=1 << 33), dict(name="t\u00e4st", bytes=0)]),
    "SCAN_MEMORY": dict(request=10, time_ns=849_200_000_000,
                        parts=[dict(what=0, name="", bytes=1 << 33, mappings=0),
                               dict(what=3, name="/usr/lib/t\u00e4st.so", bytes=8192, mappings=5)]),
    "SCAN_COHORTS": dict(request=11, flags=wire.PART_FIRST, time_ns=849_200_000_000, blocks=2, bytes=3,
                         cohorts=[dict(slot=5, thread=0, age_s=0, blocks=1, bytes=0),
                                  dict(slot=5, thread=200, age_s=31, blocks=7, bytes=8),
                                  dict(slot=(1 << 24) - 1, thread=(1 << 14) - 1, age_s=1 << 20, blocks=1 << 40, bytes=BIG)]),
    "PROVEN": dict(nodes=[dict(node=2, by=1), dict(node=(1 << 26) - 1, by=1)]),
    "SAMPLES": dict(flags=1, samples=[dict(serial=3, time_ns=1 << 33, live_bytes=4096, low_bytes=0, fall_bytes=8192,
                                           rss_bytes=7 << 20),
                                      dict(serial=70_000, time_ns=1 << 34, live_bytes=BIG, low_bytes=4096, fall_bytes=1,
                                           rss_bytes=0)]),
    "PEAK": dict(serial=300, flags=wire.PART_FIRST | wire.PART_LAST, time_ns=1 << 33, **COUNTERS,
                 counts=[dict(slot=1, **COUNTERS),
                         dict(slot=(1 << 24) - 1, allocated_blocks=BIG, allocated_bytes=BIG, freed_blocks=0, freed_bytes=0)]),
    "SAMPLE_LIVE": dict(serial=70_000, flags=1, live=[dict(slot=2, blocks=0, bytes=0),
                                                      dict(slot=130, blocks=104_858, bytes=14_260_688)]),
    "STOPS": dict(slept_ns=3_600_000_000_000, slept_at_ns=1 << 33,
                  stops=[dict(begin_ns=10_000_000_000, end_ns=40_000_000_000, stopped_ns=20_000_000_000, times=300, why=2,
                              pid=4200, name="t\u00e4st"),
                         dict(begin_ns=50_000_000_000, end_ns=0, stopped_ns=0, times=1, why=1, pid=0, name="")]),
    "CLIENT": dict(features=3, who="memtop", token="0123456789abcdef0123456789abcdef", tick_ns=250_000_000),
    "ACK": dict(bytes=1 << 35),
    "SET_MARK": dict(name="after-login"),
    "DROP_MARK": dict(id=3),
    "RENAME_MARK": dict(id=3, name="warm"),
    "SET_OPTION": dict(name="sample", value="64k"),
    "SCAN": dict(request=9, kind=1, slots=[1, 5, 1 << 20]),
    "DETACH": {},
    "S_META": dict(memtop_version="0.1.0", target=":9001", unix_ns=1_700_000_100_000_000_000),
    "S_TIME": dict(time_ns=849_100_000_000),
    "S_SYMBOL": dict(module=3, offset=0x1a40, kind=0, source=2,
                     frames=[dict(function="std::vector<int>::push_back(int&&)", file="/usr/include/c++/12/vector",
                                  line=1203, inlined=1),
                             dict(function="new_vertex_array", file="vertex.c", line=88, inlined=0)]),
    "S_EXIT": dict(state=wire.EXITED, status=3),
    "S_EXPECTED": dict(site="libtile.so.2!new_vertex_array", on=1),
    "S_NOTE": dict(text="the disk filled: 12 ticks were not saved"),
    "S_GENERATED": dict(pc=0x7f00_dead_beef, source=1,
                        frames=[dict(function="renderTile", file="/srv/tile.js", line=12, inlined=0)]),
}


# Version 2: both proofs are of this exchange.
TOKEN = VALUES["CLIENT"]["token"]
NONCES = bytes(range(32)), bytes(range(255, 223, -1))
EXCHANGE = wire.greeting(2, 2), NONCES[0], wire.greeting(2, 1), NONCES[1]
VERSION_2 = {
    "CHALLENGE": dict(nonce=NONCES[0]),
    "RESPONSE": dict(nonce=NONCES[1], proof=wire.proof(TOKEN, wire.LABEL_CLIENT, *EXCHANGE)),
    "PROOF": dict(proof=wire.proof(TOKEN, wire.LABEL_AGENT, *EXCHANGE)),
}
VALUES.update(VERSION_2)
GREETINGS = {"GREETING": wire.greeting(1, 1), "GREETING_TCP": wire.greeting(2, 2)}


def file_of(name):
    return os.path.join(HERE, f"v{2 if name in VERSION_2 or name == 'GREETING_TCP' else 1}_{name.lower()}.bin")


def contents(name):
    if name in GREETINGS:
        return GREETINGS[name]
    return wire.frame(getattr(wire, name), **VALUES[name])


def judge(name):
    with open(file_of(name), "rb") as f:
        data = f.read()
    assert data == contents(name), "the bytes are not those of the values"
    if name not in GREETINGS:
        (kind, body), = wire.Splitter().feed(data)
        assert kind == getattr(wire, name), f"type {kind}"
        assert wire.decode(kind, body) == VALUES[name], f"decoded as {wire.decode(kind, body)}"


def main():
    names = [*GREETINGS, *VALUES]
    if sys.argv[1:] == ["write"]:
        for name in names:
            if not os.path.exists(file_of(name)):
                with open(file_of(name), "wb") as f:
                    f.write(contents(name))
        return 0
    bad = set(wire.NAMES.values()) - set(VALUES)
    for name in sorted(bad):
        print(f"FAIL wire {name}: has no golden bytes")
    for name in names:
        try:
            judge(name)
            print(f"PASS wire {name}")
        except (AssertionError, OSError, ValueError, wire.WireError) as why:
            print(f"FAIL wire {name}: {why}")
            bad.add(name)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
