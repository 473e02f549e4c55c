#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_json.py - the report for scripts: every documented key, the sums, the order, arbitrary bytes
as text."""
import datetime
import importlib.util
import json
import os
import re
import signal

import manual
from harness import (BUILD, MEMTOP, ROOT, TARGETS, Synthetic, check_invariants, child_of, environment, main, need,
                     read_report, recorded, recording, report, run, temporary_folder, test, wait_for)
from term import Terminal

TALLY = ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks")


def validated(text):
    """The report, after each of its keys and kinds: backend/report/json/report.schema.json allows no other."""
    try:
        import jsonschema
    except ImportError:
        print("SKIP the schema: jsonschema is not installed: apt-get install python3-jsonschema", flush=True)
    else:
        with open(os.path.join(ROOT, "backend/report/json/report.schema.json"), encoding="utf-8") as f:
            wrong = sorted(jsonschema.Draft202012Validator(json.load(f)).iter_errors(json.loads(text)), key=str)
        assert not wrong, [f"{'.'.join(map(str, w.absolute_path))}: {w.message[:300]}" for w in wrong[:5]]
    return read_report(text)


def contract(target, arguments=()):
    """The report of all stacks, in which the contract holds."""
    done = run([MEMTOP, "report", "--format", "json", "--stacks", "all", *arguments, target], env=environment())
    assert done.returncode == 0, done
    r = validated(done.stdout)
    check_contract(r)
    return r


def check_contract(r):
    """The contract's order and sums."""
    assert list(r)[:14] == ["schema", "program", "agent", "sampling", "totals", "libraries", "threads", "stacks", "omitted", "marks",
                            "timeline", "changes", "frames", "warnings"], list(r)
    datetime.datetime.strptime(r["program"]["start_time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    for part in ("libraries", "threads", "stacks", "changes"):
        live = [row["live_bytes"] for row in r[part]]
        assert live == sorted(live, reverse=True), f"{part} are not sorted by live_bytes"
    ids = [row["id"] for row in r["stacks"]]
    assert len(ids) == len(set(ids)), "two stacks with one id"
    times = [p["time_s"] for p in r["timeline"]]
    assert times == sorted(times), "the timeline goes back"
    assert r["agent"]["truncated_stacks"] == sum(s["truncated"] is not None for s in r["stacks"])
    assert {s["owner"] for s in r["stacks"]} <= {o["name"] for o in r["libraries"]}
    for library in r["libraries"]:
        for field in TALLY:
            total = sum(s[field] for s in r["stacks"] if s["owner"] == library["name"])
            assert total == library[field], f"{library['name']}.{field}: {library[field]}, its stacks {total}"
    check_invariants(r)


@test
def t_examples_of_the_man_page():
    """Each line with jq in JSON runs as it stands, on a session a.mtop."""
    need("jq")
    with open(os.path.join(ROOT, "tui/man/memtop.1"), encoding="utf-8") as f:
        section = f.read().split("\n.SH JSON\n")[1].split("\n.SH ")[0]
    text = section.replace("\\(aq", "'").replace("\\-", "-").replace("\\e", "\\")
    lines = [line.strip() for line in text.replace("\\\n", "").splitlines() if line.startswith("memtop report") and "| jq" in line]
    assert len(lines) >= 4, lines
    folder = temporary_folder()
    recorded(os.path.join(TARGETS, "s_phases"), path=folder + "/a.mtop")
    env = {**environment(), "PATH": os.path.dirname(os.path.abspath(MEMTOP)) + ":" + os.environ["PATH"]}
    said = {}
    for line in lines:
        done = run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=env)
        assert done.returncode == 0 and done.stdout.strip() not in ("", "null"), (line, done)
        said[line] = done.stdout
    assert any("22937600" in out for out in said.values()) and any("later_phase" in out for out in said.values()), said


@test
def t_the_schema_is_no_wish():
    """A report with a key more, a key less, or a value of another kind is refused."""
    text = run([MEMTOP, "report", "--format", "json", Synthetic("--past", "5", "--still").address], env=environment()).stdout
    validated(text)
    for change in (lambda r: r.update(more=1), lambda r: r["agent"]["lost"].pop("bytes"), lambda r: r["totals"].update(live_bytes="1"),
                   lambda r: r["stacks"][0].update(live_blocks=-1), lambda r: r["frames"][0].update(by="cfi"), lambda r: r["verdict"].update(word="MAYBE")):
        r = json.loads(text)
        change(r)
        try:
            validated(json.dumps(r))
        except AssertionError:
            continue
        if importlib.util.find_spec("jsonschema"):
            raise AssertionError("a wrong report was not refused")


@test
def t_every_kind_of_report_keeps_the_schema():
    """A tree with forks and failures, a cut file, a filter and a sample set by the user, the peak, a change, a program that lasts."""
    tree = recorded("/bin/sh", "-c", "/bin/true; (sleep 0.1) & /bin/bash -c 'ulimit -c 0; kill -9 $$'; wait")
    folder = temporary_folder()
    with open(tree, "rb") as f:
        data = f.read()
    with open(folder + "/cut.mtop", "wb") as f:
        f.write(data[:len(data) * 2 // 3])
    few = recorded("/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1..3000")
    some = recorded("/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1..3000", options="min_size=64 sample=4K libs=perl")
    growing = Synthetic("--past", "600", "--past-marks", "3")
    for arguments in ((tree,), ("--process", "bash", tree), ("--process", "all", tree), (folder + "/cut.mtop",), (few,), ("--at", "peak", few), (some,), ("--stacks", "all", some),
                      (growing.address,), ("--since", "m1", growing.address)):
        done = run([MEMTOP, "report", "--format", "json", *arguments], env=environment())
        if done.returncode == 3 and ("cut.mtop" in arguments[-1] or "only its totals" in done.stderr):
            continue
        assert done.returncode == 0, (arguments, done.stderr)
        r = validated(done.stdout)
    assert r["verdict"]["site"] and r["changes"], r["verdict"]


@test
def t_state_and_growth_are_two_answers():
    """A leak that was recorded to its end is EXITED and GROWING, in every report; a live one is GROWING."""
    growth = {}
    for how in ("--ended", "--still"):
        agent = Synthetic("--past", "60", how)
        path = recorded(arguments=["--for", "1", agent.address])
        agent.stop()
        v = validated(run([MEMTOP, "report", "--format", "json", path], env=environment()).stdout)["verdict"]
        growth[how] = v["growth"]
        state = "exited" if how == "--ended" else "running"
        assert (v["word"], v["state"]) == ("EXITED" if how == "--ended" else "GROWING", state), v
        assert v["growth"]["word"] == "GROWING" and v["growth"]["site"]["function"].startswith("Index::grow"), v
        text = run([MEMTOP, "report", "--full", path], env=environment()).stdout.splitlines()
        assert v["text"] == ("EXITED, " if how == "--ended" else "") + v["growth"]["text"], v
        assert v["text"] in text and v["per_minute"] == v["growth"]["per_minute"], (v, text[:8])
        page = run([MEMTOP, "report", "--format", "html", path], env=environment()).stdout
        assert re.findall('class="verdict" id="verdict" data-word="([A-Z]*)"', page) == ["GROWING"], how
        with Terminal([MEMTOP, "open", path], 160, 36) as t:
            t.wait_for(lambda lines: v["text"] in lines[1], 20, v["text"])
    assert growth["--ended"] == growth["--still"], growth


def frame_order(stack):
    """Of each location, outermost first: what is inlined there stands before the function that contains it."""
    order, begins = [], True
    for f in stack["frames"]:
        if begins:
            order.append((f["function"] is None, f["function"] or "", f["module"] is None, f["module"] or "", f["offset"] or 0))
        begins = not f["inlined"]
    return order[::-1]


@test
def t_stacks_without_live_blocks_are_summed_up():
    """Each frame stands in the table once; --stacks all lists every stack, and only it does."""
    path = recorded("/usr/bin/perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..3000; print length $h{3}")
    plain = run([MEMTOP, "report", "--format", "json", path], env=environment()).stdout
    brief, every = read_report(plain), report(path)
    gone = [s for s in every["stacks"] if not s["live_blocks"]]
    assert gone and every["omitted"] == dict.fromkeys(every["omitted"], 0)
    assert [s["id"] for s in brief["stacks"]] == [s["id"] for s in every["stacks"] if s["live_blocks"]]
    assert brief["omitted"] == {"stacks": len(gone), **{k: sum(s[k] for s in gone) for k in TALLY}}
    for r in (brief, every):
        table = [json.dumps(f, sort_keys=True) for f in r["frames"]]
        assert len(table) == len(set(table)), "a frame stands in the table twice"
        used = {json.dumps(f, sort_keys=True) for s in r["stacks"] for f in s["frames"]}
        assert used == set(table), "frames that no stack has"
    few = json.loads(run([MEMTOP, "report", "--format", "json", "--stacks", "3", path], env=environment()).stdout)
    assert [s["id"] for s in few["stacks"]] == [s["id"] for s in every["stacks"][:3]] and few["omitted"]["stacks"] == len(every["stacks"]) - 3
    check_invariants(few)
    for word in ("some", "0", "-1", "1.5", "99999999999", ""):
        done = run([MEMTOP, "report", "--format", "json", "--stacks", word, path], env=environment())
        assert done.returncode == 2 and ("write live, all or a number" in done.stderr or not word), done.stderr
    done = run([MEMTOP, "report", "--stacks", "all", path], env=environment())
    assert done.returncode == 2 and "--stacks: works only with json and csv; text" in done.stderr, done.stderr


@test
def t_recorded_program():
    path = recorded("/bin/bash", "--norc", "-c", "declare -A a; for i in {1..300}; do a[k$i]=$i; done; exit 5", status=5)
    r = contract(path)
    p = r["program"]
    assert (p["state"], p["status"], p["signal"]) == ("exited", 5, None), p
    assert p["exe"] == os.path.realpath("/bin/bash") and p["args"][:3] == ["/bin/bash", "--norc", "-c"], p
    assert r["totals"]["allocated_blocks"] > 300 and r["stacks"] and r["libraries"], r["totals"]
    assert [t["tid"] for t in r["threads"]] == [p["pid"]], r["threads"]
    assert r["threads"][0]["live_bytes"] == r["totals"]["live_bytes"], "one thread holds all that is live"
    assert r["threads"][0]["allocated_blocks"] == r["totals"]["allocated_blocks"]
    assert r["changes"] == [] and r["marks"] == []


@test
def t_short_lived_threads_keep_their_names():
    """They name themselves before their first allocation and are gone before anybody looks."""
    r = report(recorded(f"{BUILD}/tests/targets/s_named", "20"))
    names = [t["name"] for t in r["threads"] if t["tid"] != r["program"]["pid"]]
    assert sorted(names) == sorted(f"short-{i}" for i in range(20)), names


@test
def t_main_program_has_the_name_it_was_called_by():
    """As /usr/bin/redis-server is a link to redis-check-rdb; the path stays the real one."""
    folder = temporary_folder()
    real = os.path.realpath(f"{BUILD}/tests/targets/s_named")
    os.symlink(real, folder + "/serverd")
    path = recorded(folder + "/serverd", "2")
    r = report(path)
    assert run([MEMTOP, "report", path], env=environment()).stdout.startswith("serverd [")
    assert r["program"]["exe"] == real, r["program"]
    assert "serverd" in {x["name"] for x in r["libraries"]}, r["libraries"]
    assert "serverd" in {s["owner"] for s in r["stacks"]}
    assert "serverd" in {f["module"] for s in r["stacks"] for f in s["frames"]}
    assert "s_named" not in json.dumps([r["libraries"], [[f["module"] for f in s["frames"]] for s in r["stacks"]]])
    assert real in {m["path"] for m in r["modules"]}, r["modules"]
    # not a file's name: a login shell's dash, a title
    for title in ("-serverd", "serverd: worker"):
        path = recorded("/bin/bash", "-c", f'exec -a "$0" {real} 2', title)
        assert "s_named" in {x["name"] for x in report(path)["libraries"]}, title


@test
def t_signalled_program():
    """By its number for scripts, by its name for people."""
    path = recorded("/bin/sh", "-c", "ulimit -c 0; /bin/sh -c 'kill -TERM $$'; kill -SEGV $$", status=128 + signal.SIGSEGV)
    r = report(path)
    p = r["program"]
    assert (p["state"], p["status"], p["signal"]) == ("signalled", None, int(signal.SIGSEGV)), p
    assert sorted(x["signal"] for x in r["processes"]) == [signal.SIGSEGV, signal.SIGTERM], r["processes"]
    text = run([MEMTOP, "report", "--process", str(p["pid"]), path]).stdout
    assert re.search(rf"^sh \[{p['pid']}\]  ended by SIGSEGV ", text, re.M) and "KILLED (SIGSEGV)" in text, text
    assert re.search(r" SIGTERM +sh", text) and "signal 1" not in text, text


@test
def t_same_file_same_report():
    """Nothing in a report depends on the moment or on the process that prints it."""
    path = recorded("/usr/bin/perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..3000; print length $h{3}")
    first, second = ([run([MEMTOP, "report", "--format", "json", "--stacks", "all", path], env=environment()).stdout for _ in range(2)])
    assert first == second
    r = validated(first)
    check_contract(r)
    for a, b in zip(r["stacks"], r["stacks"][1:]):
        if a["live_bytes"] == b["live_bytes"]:
            assert frame_order(a) <= frame_order(b), f"{a['frames']} before {b['frames']}"


@test
def t_text_shows_what_was_given_back():
    """Sites without live memory are sorted by their allocations, for programs that freed
    everything."""
    path = recorded("/usr/bin/perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..3000; print length $h{3}")
    done = run([MEMTOP, "report", path], env=environment())
    assert done.returncode == 0, done
    table = done.stdout.split("\nCall sites, ")[1].split("\n\n")[0].splitlines()[2:]
    unit = {"": 1, "K": 1 << 10, "M": 1 << 20}
    rows = []
    for line in table:
        row = re.match(r" *([0-9.]+)([KM]?) +[0-9,]+ +([0-9.]+)([KM]?)   ", line)
        if row:
            rows.append(tuple(float(row[n]) * unit[row[n + 1]] for n in (1, 3)))
    assert len(rows) > 5 and rows == sorted(rows, reverse=True), done.stdout


@test
def t_bytes_that_are_no_text():
    """Names that are not UTF-8 come as \\xNN; those that are stay as they are."""
    folder = temporary_folder()
    odd = os.fsencode(folder) + b"/pro\xff\xfeg\xc3\xa9"
    os.symlink("/bin/echo", odd)
    path = recorded(odd, b"a\x80b", "\u00e9", b"\xed\xa0\x80", "q\"\\\n", text=False)
    args = report(path)["program"]["args"]
    assert args[0].endswith("/pro\\xff\\xfeg\u00e9"), args
    assert args[1:] == ["a\\x80b", "\u00e9", "\\xed\\xa0\\x80", "q\"\\\n"], args


@test
def t_live_agent():
    agent = Synthetic("--past", "30", "--past-marks", "3")
    r = contract(agent.address)
    assert r["program"]["state"] == "running" and r["program"]["status"] is None, r["program"]
    assert [m["id"] for m in r["marks"]] == [1, 2, 3], r["marks"]
    assert {t["name"] for t in r["threads"]} == {"mapd", "logger"} and any(t["live_bytes"] for t in r["threads"])
    assert r["agent"]["truncated_stacks"] == 1 and len(r["timeline"]) > 10


@test
def t_born_and_gone_add_up_between_instants():
    """NET of all stacks between two instants is the difference of live there; born and gone add up."""
    agent = Synthetic("--past", "30", "--past-marks", "3", "--still")
    for arguments, at, until in ((["--since", "m2"], 2, None), (["--between", "m1..m3"], 1, 3), (["--since", "1"], 1, None),
                                 (["--between", "start..m2"], None, 2), (["--between", "m3..now"], 3, None)):
        r = contract(agent.address, arguments)
        live = {m["id"]: (m["live_bytes"], m["live_blocks"]) for m in r["marks"]}
        now = (r["totals"]["live_bytes"], r["totals"]["live_blocks"])
        before, after = live[at] if at else (0, 0), live[until] if until else now
        for i, unit in enumerate(("bytes", "blocks")):
            net = sum(c[f"net_{unit}"] for c in r["changes"])
            assert net == after[i] - before[i], f"{arguments}: net {unit} {net}, live {before[i]} > {after[i]}"
        assert r["changes"], arguments


def described():
    """What memtop.1 says of each key of the report; "" = of all."""
    start, entries = manual.section("memtop.1", "JSON").split(".nf\n")
    parts = re.split(r"^(\w+)(?:\[\])? +", entries, flags=re.M)
    assert len(parts[1::2]) == len(set(parts[1::2])), f"described twice: {parts[1::2]}"
    return {"": start, **dict(zip(parts[1::2], parts[2::2]))}


def keys_below(value):
    for x in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from keys_below(x)
    if isinstance(value, dict):
        yield from value


@test
def t_every_key_is_in_the_man_page():
    """The manual describes each printed key once, with nullable values and enumerated words."""
    text = described()
    tree = recorded("/bin/sh", "-c", "/bin/true; (sleep 0.1) & wait")
    agent = Synthetic("--past", "30", "--past-marks", "3")
    for r in (report(tree), report(agent.address, arguments=["--since", "m2"])):
        for part, value in r.items():
            assert part in text, f"memtop.1 has no {part}"
            words = text[""] + text[part] + text["frames"] * (part in ("stacks", "changes")) + (text["stacks"] + "born_bytes born_blocks gone_bytes gone_blocks net_bytes net_blocks"
                                             if part == "changes" else "")
            missing = {key for key in keys_below(value) if not re.search(rf"\b{key}\b", words)}
            assert not missing, f"memtop.1 says nothing of {part}: {missing}"
    for part, words in (("program", ("ended", "link_lost", "cut", "detached")), ("agent", ("overhead_percent: [^,]*, null in its first",)),
                        ("processes", ("starting", "signalled", "execed", "gone", "not_followed"))):
        for word in words:
            assert re.search(rf"\b{word}\b", " ".join(text[part].split())), f"memtop.1, {part}: {word}"


@test
def t_marks_of_a_script():
    folder = temporary_folder()
    for name in ("go", "end"):  # two: a reader may open one again before its writer has closed it
        os.mkfifo(f"{folder}/{name}")
    env = environment()
    p = recording("/bin/bash", "--norc", "-c", f"read x <{folder}/go; for i in {{1..200}}; do a[i]=x$i; done; read x <{folder}/end",
                  path=folder + "/a.mtop", env=env)
    pid = str(child_of(p.pid))

    def mark(name):
        done = run([MEMTOP, "mark", "-p", pid, name], env=env)
        if done.returncode:
            print("  " + done.stderr.strip())
        return done if done.returncode == 0 else None

    first = wait_for(lambda: mark("before"), 20, "the first mark")
    assert first.stdout.split() == ["m1", "before"], first
    with open(folder + "/go", "w", encoding="utf-8") as go:
        go.write("\n")
    second = mark("before")
    assert second and second.stdout.startswith("m2 before"), second
    assert second.stdout.split()[1] != "before", "a name is unique"
    third = mark("")
    assert third and third.stdout.startswith("m3"), third
    with open(folder + "/end", "w", encoding="utf-8") as go:
        go.write("\n")
    assert p.wait(60) == 0
    r = contract(folder + "/a.mtop", ["--since", "before"])
    assert [m["id"] for m in r["marks"]] == [1, 2, 3], r["marks"]
    net = sum(c["net_bytes"] for c in r["changes"])
    assert net == r["totals"]["live_bytes"] - r["marks"][0]["live_bytes"], net


@test
def t_symbols_in_the_file():
    """A session file opens with its names where the binaries are not."""
    folder = temporary_folder()
    with open(folder + "/p.c", "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\nvoid *keep;\nvoid keeper_of_memory(void)\n{\n\tkeep = malloc(4321);\n}\n"
                "int main(void)\n{\n\tkeeper_of_memory();\n\treturn keep == 0;\n}\n")
    assert run(["gcc", "-g", "-O0", "-o", folder + "/p", folder + "/p.c"]).returncode == 0
    path = recorded(folder + "/p")
    os.unlink(folder + "/p")
    r = report(path)
    top = r["stacks"][0]
    assert top["live_bytes"] == 4321 and top["live_blocks"] == 1, top
    frames = [f for f in top["frames"] if f["function"] == "keeper_of_memory"]
    assert frames and frames[0]["line"] == 5 and frames[0]["file"].endswith("/p.c"), top["frames"]
    assert top["owner"] == "p", top


@test
def t_the_demos_leak_is_the_largest_site():
    """The bundled demonstration: its leak is the site that holds most, with function, file and line."""
    path = recorded(BUILD + "/demo/mapd", "4")
    r = contract(path)
    assert {t["name"] for t in r["threads"]} >= {"mapd", "io-1", "io-2", "logger"}, r["threads"]
    leak = [s for s in r["stacks"] if any(f["function"] == "new_vertex_array" for f in s["frames"])]
    held = sum(s["live_bytes"] for s in leak)
    assert held and all(s["owner"] == "libtile.so.2" for s in leak), leak[:2]
    assert any(f["file"].endswith("/vertex.c") and f["line"] for f in leak[0]["frames"] if f["file"]), leak[0]


@test
def t_the_text_report_has_the_jsons_figures():
    path = recorded("/bin/bash", "--norc", "-c", "a=1; exit 0")
    done = run([MEMTOP, "report", path], env=environment())
    assert done.returncode == 0, done
    r = report(path)
    text = done.stdout
    assert text.startswith(f"bash [{r['program']['pid']}]  exited with status 0"), text
    for name in ("live", "allocated", "freed"):
        line = [li for li in text.splitlines() if li.startswith(name + " ")][0]
        assert f"{r['totals'][name + '_blocks']:,} blocks" in line, line
    assert r["libraries"][0]["name"] in text
    out = temporary_folder() + "/r.json"
    assert run([MEMTOP, "report", "--stacks", "all", "-o", out, path], env=environment()).returncode == 0
    assert read_report(open(out, encoding="utf-8").read()) == r, "-o FILE.json is the JSON report"


if __name__ == "__main__":
    main()
