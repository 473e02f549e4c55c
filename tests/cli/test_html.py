#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_html.py - the report as a page: its data equals the JSON report of the same session, nothing is loaded from
elsewhere, names cannot become markup; and in headless Chromium, with real clicks and keys, the graphs work."""
import base64
import hashlib
import os
import re

from cli import compiled
from harness import MEMTOP, TARGETS, Synthetic, environment, main, recorded, report, run, temporary_folder, test
from pages import Parsed, browse, data_of, nodes_of, pixels, quiet, read, running
from term import command, view

LIVE = ("live_bytes", "live_blocks")
TALLY = (*LIVE, "allocated_bytes", "allocated_blocks")


def marked_session():
    """Three marks in the past of a synthetic program, which stands still."""
    agent = Synthetic("--past", "30", "--past-marks", "3", "--still")
    path = recorded(arguments=["--for", "1", agent.address])
    agent.stop()
    return path


def page_of(path, *arguments):
    out = os.path.splitext(path)[0] + ".html"
    done = run([MEMTOP, "report", "-o", out, *arguments, path], env=environment())
    assert done.returncode == 0, done
    return out


def held_at(data, mark):
    """(bytes, blocks) of each entry at a mark; None: now, 0: the start."""
    e = data["entries"]
    if mark is None:
        return list(zip(e["live_bytes"], e["live_blocks"]))
    held = [[0, 0] for _ in e["node"]]
    for cells in data["mark_cells"]:
        if cells["id"] <= mark:
            for entry, size, blocks in zip(running(cells["entry"]), cells["bytes"], cells["blocks"]):
                held[entry][0] += size
                held[entry][1] += blocks
    return held


def check_tree(page, r):
    """The page's tree has the stacks of the JSON report: each path's amounts, by function."""
    data, e = data_of(page), data_of(page)["entries"]
    parent, frames = nodes_of(data), data["frames"]
    for field in TALLY:
        assert sum(e[field]) == r["totals"][field] == data["totals"][field], field
        for owner, row in enumerate(data["owners"]):
            want = next(x for x in r["libraries"] if x["name"] == row[0])
            assert sum(n for n, o in zip(e[field], e["owner"]) if o == owner) == want[field] == row[1 + TALLY.index(field)], row
    ours, theirs = {}, {}
    for node, *amounts in zip(running(e["node"]), *(e[f] for f in TALLY)):
        path = []
        while node:
            frame = data["nodes"]["frame"][node - 1]
            path.append(frames["full"][frame] or frames["name"][frame])
            node = parent[node]
        key = tuple(path)
        ours[key] = [a + b for a, b in zip(ours.get(key, [0] * 4), amounts)]
    for s in r["stacks"]:
        if s["truncated"] is None and all(f["function"] for f in s["frames"]):
            key = tuple(f["function"] for f in s["frames"])
            theirs[key] = [a + s[f] for a, f in zip(theirs.get(key, [0] * 4), TALLY)]
    assert theirs, "no stack of the session has all of its names"
    for key, amounts in theirs.items():
        assert ours.get(key) == amounts, f"{key}: {ours.get(key)}, the JSON report {amounts}"


@test
def t_a_page_has_the_figures_of_the_json_report():
    path = recorded("/bin/bash", "--norc", "-c", "declare -A a; for i in {1..300}; do a[k$i]=$i; done")
    r, page = report(path), page_of(path)
    data = data_of(page)
    for field in TALLY:
        assert sum(data["entries"][field]) == r["totals"][field] == data["totals"][field], field
    plain = recorded(f"{TARGETS}/s_shop")
    check_tree(page_of(plain), report(plain))
    assert [t[1] for t in data["threads"]] == [t["tid"] for t in r["threads"]]
    assert sum(row[2] for row in data["resident"] if row[1] is None) == r["resident"]["rss_bytes"]
    title = re.search("<title>(.*)</title>", read(page))[1]
    assert title.startswith(f"bash [{r['program']['pid']}]: ") and r["program"]["start_time"][:10] in title, title


@test
def t_growth_between_marks_is_that_of_the_json_report():
    path = marked_session()
    for arguments, at, until in ((["--since", "m2"], 2, None), (["--between", "m1..m3"], 1, 3), (["--between", "start..m2"], 0, 2)):
        r, data = report(path, arguments=arguments), data_of(page_of(path, *arguments))
        assert data["chosen"] == [at, until or 0], data["chosen"]
        before, after = held_at(data, at), held_at(data, until)
        assert r["changes"]
        for i, unit in enumerate(("bytes", "blocks")):
            born = sum(max(0, b[i] - a[i]) for a, b in zip(before, after))
            gone = sum(max(0, a[i] - b[i]) for a, b in zip(before, after))
            assert born == sum(c[f"born_{unit}"] for c in r["changes"]), (arguments, unit, born)
            assert gone == sum(c[f"gone_{unit}"] for c in r["changes"]), (arguments, unit, gone)
    for mark, row in zip(r["marks"], data["marks"]):
        held = held_at(data, row[0])
        assert (row[0], row[4], row[5]) == (mark["id"], mark["live_bytes"], mark["live_blocks"]), row
        assert sum(h[0] for h in held) == row[4] and sum(h[1] for h in held) == row[5], row


@test
def t_the_tree_at_the_peak():
    """Its sum is the peak that the totals name, within a hundredth and their error."""
    page = page_of(recorded("/usr/bin/perl", "-e", "my @a = map { q(x) x 1000 } 1..20000; @a = ();"))
    data = data_of(page)
    assert len(data["peak_cells"]) == 1, data["peak_cells"]
    held, t = sum(data["peak_cells"][0]["bytes"]), data["totals"]
    assert t["live_bytes"] < t["peak_bytes"] / 2 and 0.98 * t["peak_bytes"] <= held <= t["peak_bytes"], (held, t)
    b = browse(page)
    dot = b.run("(() => { const p = document.querySelector('#curve .peak'); return ['cx', 'cy'].map((n) => (+p.getAttribute(n)).toFixed(1)).join(); })()")
    assert dot in re.split("[ML]", b.run("document.querySelector('#curve .live').getAttribute('d')")), f"the peak {dot} lies beside the curve"
    b.click("#metric [data-key=peak]")
    assert b.run("document.getElementById('flame').getAttribute('aria-label')").startswith("Peak, ")
    quiet(b)


@test
def t_a_page_loads_nothing_and_runs_its_own_script_alone():
    text = read(page_of(recorded("/bin/true")))
    page = Parsed(text)
    assert not page.open, f"not closed: {page.open}"
    for tag, name, value in page.attributes:
        assert name not in ("src", "href", "srcset", "action", "data", "poster", "style") and not name.startswith("on"), (tag, name, value)
    code = text.replace(re.search(r'id="data">([^<]*)', text)[1], "")
    addresses = set(re.findall(r"(?:https?:)?//[a-z0-9.]+\.[a-z]{2,}[^'\"]*", code))
    assert addresses <= {"http://www.w3.org/2000/svg"}, addresses  # the name of a vocabulary, which nobody fetches
    for word in ("eval(", "innerHTML", "outerHTML", "document.write", "insertAdjacent", "import ", "fetch(", "XMLHttp", "new Function", "url("):
        assert word not in code.replace("url(#below)", ""), word
    policy = dict(p.split(" ", 1) for p in next(v for t, n, v in page.attributes if n == "content" and v.startswith("default-src")).split("; "))
    assert policy["default-src"] == "'none'" and policy["base-uri"] == "'none'" and policy["form-action"] == "'none'", policy
    for kind, pattern in (("script-src", r'<script type="module">(.*?)</script>'), ("style-src", r"<style[^>]*>(.*?)</style>")):
        hashes = {"'sha256-" + base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() + "'" for x in re.findall(pattern, text, re.S)}
        assert set(policy[kind].split()) == hashes, (kind, policy[kind], hashes)
    assert set(policy) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}, policy


@test
def t_names_are_not_markup():
    path = recorded(f"{TARGETS}/s_markup", "</title></script><script>alert(1)</script>", "a\"b'c\x1b[31m")
    page = page_of(path)
    text = read(page)
    assert Parsed(text).tags.count("script") == 2 and "img" not in Parsed(text).tags and "\x1b" not in text
    assert "&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)" in text
    data = data_of(page)
    names = " ".join(x or "" for x in data["frames"]["full"] + data["frames"]["name"])
    assert "</script><img src=x onerror=alert(1)>" in names and "]]>'&amp;${1}<!--" in names, names
    amounts = [s[5:9] for s in data["sites"]]
    assert [3000, 3, 3000, 3] in amounts and [0, 0, 10000, 5] in amounts, data["sites"]
    assert data["threads"][0][0] == "<b onclick=1>", data["threads"]


@test
def t_the_live_view_writes_it():
    folder = temporary_folder()
    with view(Synthetic("--ended", "--past", 60, "--past-marks", 2)) as t:
        t.wait_for("final")  # everything has arrived
        command(t, f"w {folder}/a.html")
        t.wait_for(f"saved: {folder}/a.html", 20)
    data = data_of(f"{folder}/a.html")
    assert [m[0] for m in data["marks"]] == [1, 2], data["marks"]
    assert sum(data["entries"]["live_bytes"]) == data["totals"]["live_bytes"] > 0, (sum(data["entries"]["live_bytes"]), data["totals"])


# --- in a browser

def first_row(b, selector, column=0):
    return b.run(f"document.querySelector('{selector} tbody tr').cells[{column}].textContent")


@test
def t_graph_zooms_searches_and_switches():
    b = browse(page_of(recorded(f"{TARGETS}/s_markup")))
    whole = pixels(b)
    x, y = b.middle("#flame")
    left, top = b.run("(() => { const r = document.querySelector('#canvas').getBoundingClientRect(); return [r.left, r.top]; })()")
    b.click_at(left + 40, top + 19 * 2.5)
    assert b.run("document.querySelectorAll('#crumbs button').length") == 3, b.text("#crumbs")
    assert "3,0" in b.text("#focus") or "2.9K" in b.text("#focus"), b.text("#focus")
    b.key("Escape")
    b.key("Home")
    assert b.run("document.querySelectorAll('#crumbs button').length") == 0
    for expected in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        b.key(expected)
    assert b.run("document.querySelectorAll('#crumbs button').length") == 2, "the arrows led elsewhere"
    b.key("Home")
    b.key("/")
    b.type("onerror")
    b.wait("document.getElementById('found').textContent.includes('2.9K')", "the sum of the hits")
    b.key("Enter")
    assert "<img src=x onerror=alert(1)>" in b.text("#focus"), b.text("#focus")
    b.key("n")
    assert b.run("document.getElementById('search').value") == "onerror" and b.run("memtopPage.place") >= 0, "n went into the search"
    assert b.run("document.querySelectorAll('img').length") == 0
    b.key("Escape")
    b.click("#out")
    b.click("#search")
    b.key("Escape")
    assert pixels(b) == whole and b.text("#found") == ""
    for key, says in (("temporary", "9.8K"), ("allocated", "12.7K"), ("live", "2.9K")):
        b.click(f"#metric [data-key={key}]")
        assert says in b.text("#focus"), (key, b.text("#focus"))
        assert says in b.run("document.getElementById('flame').getAttribute('aria-label')"), (key, says)
    b.click("#unit [data-key=blocks]")
    assert ", 3" in b.run("document.getElementById('flame').getAttribute('aria-label')")
    b.click("#unit [data-key=bytes]")
    # nearly all is of one library
    assert b.run("document.querySelector('#by [aria-checked=true]').dataset.key") == "file"
    drawn = {}
    for key in ("library", "function", "file"):
        b.click(f"#by [data-key={key}]")
        assert f"Colour: the {key}" in b.text("#meaning"), b.text("#meaning")
        drawn[key] = pixels(b)
    assert len(set(drawn.values())) == 3, "a choice changed no colour"
    icicle = pixels(b)
    b.click("#grow [data-key=up]")
    assert pixels(b) != icicle, "flame and icicle look the same"
    quiet(b)


@test
def t_tree_and_tables_by_keyboard():
    b = browse(page_of(recorded("/bin/bash", "--norc", "-c", "declare -A a; for i in {1..300}; do a[k$i]=$i; done")))
    rows = "document.querySelectorAll('#tree tbody tr').length"
    before = b.run(rows)
    b.run("document.querySelector('#tree tbody tr').focus()")
    b.key("ArrowLeft")
    assert b.run(rows) < before, "Left did not close the first row"
    b.key("ArrowRight")
    assert b.run(rows) == before
    b.key("ArrowDown")
    b.key("Enter")
    assert b.run("document.querySelectorAll('#crumbs button').length") >= 2, "Enter did not zoom"
    b.click("#invert [data-key=up]")
    assert b.run("document.querySelectorAll('#tree tbody tr').length") > 1
    sites = "#tables section:nth-of-type(2) table"
    amounts = [b.run(f"document.querySelector('{sites}').tBodies[0].rows[{i}].cells[6].textContent") for i in range(3)]
    b.click(f"{sites} th:nth-child(7) button")
    assert b.run(f"document.querySelector('{sites} th:nth-child(7)').getAttribute('aria-sort')") == "descending"
    sorted_amounts = [b.run(f"document.querySelector('{sites}').tBodies[0].rows[{i}].cells[6].textContent") for i in range(3)]
    assert sorted_amounts != amounts
    b.run(f"document.querySelector('{sites} th:nth-child(1) button').focus()")
    b.key("Enter")
    assert b.run(f"document.querySelector('{sites} th').getAttribute('aria-sort')") == "ascending"
    b.key("/")
    b.type("main")
    b.wait("document.getElementById('found').textContent.includes('call paths')", "hits")
    libraries = "document.querySelector('#tables section:nth-of-type(1)')"
    assert b.run(f"{libraries}.querySelectorAll('tbody tr').length") > 0, "a function's name emptied the libraries"
    assert "0 of" in b.run(f"{libraries}.textContent"), b.run(f"{libraries}.textContent")
    quiet(b)


def check_sites_net(b, r):
    """The call sites' column Net: adds up to the change, in all and for each library."""
    sites = "#tables section:nth-of-type(2) table"
    titles = b.run(f"[...document.querySelectorAll('{sites} th')].map((x) => x.textContent)")
    by_site = dict(b.run("[...memtopPage.model.sitesNet]"))
    assert sum(by_site.values()) == sum(c["net_bytes"] for c in r["changes"]) and len(set(by_site.values())) > 2, by_site
    rows, owners = b.run("memtopPage.model.data.sites"), b.run("[...memtopPage.model.ownersNet]")
    for owner, net in enumerate(owners):
        assert net == sum(by_site[row[16]] for row in rows if row[4] == owner), (owner, net)
    b.click(f"{sites} th:nth-child({titles.index('Net') + 1}) button")
    texts = b.run(f"[...document.querySelector('{sites}').tBodies[0].rows].map((x) => x.cells[{titles.index('Net')}].textContent)")
    wanted = b.run(f"{sorted(by_site[row[16]] for row in rows)[::-1]}.map((n) => (n < 0 ? '-' : n > 0 ? '+' : '') + n)")
    assert [t[:1] in "+-" for t in texts] == [w[:1] in "+-" for w in wanted][:len(texts)], (texts, wanted)


FREED_BEFORE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *freed_before(int n) { void *p = malloc(n); return p; }
__attribute__((noinline)) void *stayed(int n) { void *p = malloc(n + 2); return p; }
int main(void)
{
	free(freed_before(5000));
	void *a = stayed(7000);
	puts("ready");
	fflush(stdout);
	usleep(800000);
	return !a;
}
"""


@test
def t_what_held_nothing_in_the_interval_is_one_line():
    """Until a click lists it; without an interval it is a row as any."""
    path = recorded(compiled(FREED_BEFORE), arguments=("--mark-on", "ready"))
    sites = "#tables section:nth-of-type(2)"
    b = browse(page_of(path))
    assert "freed_before" in b.text(f"{sites} table") and not b.text(f"{sites} .more-rows"), b.text(sites)
    b = browse(page_of(path, "--since", "ready"))
    assert "stayed" in b.text(f"{sites} table") and "freed_before" not in b.text(f"{sites} table"), b.text(sites)
    assert b.text(f"{sites} .more-rows").strip() == "1 more without memory", b.text(f"{sites} .more-rows")
    b.click(f"{sites} .more-rows button")
    assert "freed_before" in b.text(f"{sites} table"), b.text(sites)
    quiet(b)


@test
def t_brush_chooses_two_instants():
    path = marked_session()
    r = report(path, arguments=["--between", "m1..m3"])
    net = sum(c["net_blocks"] for c in r["changes"])
    b = browse(page_of(path))
    times = [m["time_s"] for m in r["marks"]]
    b.middle("#curve svg")
    x = [b.run(f"(() => {{ const l = document.querySelectorAll('#curve .mark')[{i}].getBoundingClientRect(); return l.left; }})()") for i in (0, 2)]
    y = b.middle("#curve svg")[1]
    b.drag(x[0], y, x[1], y)
    said = b.text("#change")
    assert re.search(r"From m1\b.* to m3\b", said) and f"{abs(net):,} blocks" in said and "born" in said, (said, net, times)
    assert b.run("document.querySelector('#metric [aria-checked=true]').dataset.key") == "grew"
    owners = "#tables section:nth-of-type(1) table"
    assert b.run(f"document.querySelector('{owners} th:last-child').textContent") == "Net"
    check_sites_net(b, r)
    b.run("document.querySelector('[data-end=to]').focus()")
    b.key("ArrowRight")
    assert "to m3" not in b.text("#change"), b.text("#change")
    b.click("#whole")
    assert b.text("#change").startswith("From start to now"), b.text("#change")
    quiet(b)


@test
def t_dark_narrow_and_on_paper():
    path = page_of(recorded(f"{TARGETS}/s_markup"))
    b = browse(path, wide=600)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light, drawn = b.run(paper), pixels(b)
    assert b.run("document.documentElement.scrollWidth") <= 600, "wider than the window"
    b.click("#theme [data-key=dark]")
    assert b.run(paper) != light and pixels(b) != drawn, "the switch changed nothing"
    b.click("#theme [data-key=light]")
    assert b.run(paper) == light and pixels(b) == drawn
    b.open(path, dark=True)
    assert b.run(paper) != light, "the system's dark is not followed"
    pdf = b.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 10000
    assert b.run(paper) != light, "dark did not come back after printing"
    quiet(b)


@test
def t_a_hundred_thousand_stacks():
    """Size, no complaint, and every stack there; how long it takes is no test's business."""
    path = page_of(recorded(f"{TARGETS}/s_paths", "17"))
    assert os.path.getsize(path) < 2 << 20, os.path.getsize(path)
    assert len(data_of(path)["entries"]["node"]) >= 1 << 17
    b = browse(path)
    b.click("#metric [data-key=allocated]")
    x, y = b.middle("#flame")
    b.click_at(x, y)
    b.key("Home")
    quiet(b)


if __name__ == "__main__":
    main()
