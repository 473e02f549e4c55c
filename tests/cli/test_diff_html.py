#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_diff_html.py - a diff as a page: its data equals the JSON diff of the same sessions, it is the report's page and
no second one, and in headless Chromium, with real clicks and keys, it shows in red what grew and in blue what shrank."""
import json
import re

from cli import memtop
from diffs import build, one_session
from harness import TARGETS, main, recorded, temporary_folder, test
from pages import Parsed, browse, data_of, nodes_of, pixels, quiet, read

KINDS = ["same", "grown", "shrunk", "new", "gone"]


def page_of(*arguments):
    out = temporary_folder() + "/change.html"
    done = memtop("diff", "-o", out, *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    return out


def json_of(*arguments):
    return json.loads(memtop("diff", "--format", "json", *arguments).stdout)


def mean(values):
    return sum(values) / len(values)


def path_of(data, node):
    """Names from the innermost function outwards."""
    parent, frames, path = nodes_of(data), data["frames"], []
    while node:
        frame = data["nodes"]["frame"][node - 1]
        path.append(frames["full"][frame] or frames["name"][frame])
        node = parent[node]
    return tuple(path)


def check_figures(*arguments, value="live"):
    """Every row of the page has the amounts and the judgement of the JSON diff."""
    data, d = data_of(page_of(*arguments)), json_of(*arguments)
    names = ("allocated_bytes", "allocated_blocks") if value == "allocated" else ("live_bytes", "live_blocks")
    wanted = lambda row: [round(mean(row[side][n]), 3) for side in "ab" for n in names]
    e, count = data["entries"], len(data["entries"]["node"])
    columns = [e[f"{side}_{unit}"] for side in "ab" for unit in ("bytes", "blocks")]
    for column, want in zip(columns, wanted(d["totals"])):
        assert abs(sum(column) - want) <= 0.001 * count, (sum(column), want)
    for ours, theirs, name in ((data["owners"], d["owners"], "owner"), (data["sites"], d["sites"], "function")):
        assert [(r[0], r[1:5], r[5], bool(r[6])) for r in ours] == \
               [(r[name], wanted(r), r["kind"], bool(r["noise"])) for r in theirs], name
    of_path, theirs = {}, {}
    for i, node in enumerate(e["node"]):
        key = path_of(data, node)
        of_path[key] = [a + b[i] for a, b in zip(of_path.get(key, [0] * 4), columns)]
    for s in d["stacks"]:
        key = tuple(f["function"] for f in s["frames"])
        theirs[key] = [a + b for a, b in zip(theirs.get(key, [0] * 4), wanted(s))]
    for key, amounts in theirs.items():
        assert all(abs(a - b) < 0.01 for a, b in zip(of_path[key], amounts)), (key, of_path[key], amounts)
    return data


def judged(data, function):
    """{(kind, noise)} of the nodes of a function."""
    name = data["frames"]["name"].index(function)
    return {(KINDS[data["diff"]["kind"][n]], bool(data["diff"]["noise"][n]))
            for n, frame in enumerate(data["nodes"]["frame"], 1) if frame == name}


@test
def t_a_page_has_the_figures_of_the_json_diff():
    a, b = one_session("-O1"), one_session("-O2", "-DLEAK=7", "-DLESS")
    data = check_figures(a, b)
    assert (data["diff"]["a"], data["diff"]["b"], data["diff"]["noise_rule"]) == ([a], [b], None), data["diff"]
    assert judged(data, "leaky") == {("new", False)} and judged(data, "cache") == {("shrunk", False)}, data["diff"]
    check_figures("--value", "allocated", a, b, value="allocated")
    check_figures(a + "@cached", a)


@test
def t_noise_is_judged_at_each_node():
    base, leak = build("-O1"), build("-O1", "-DLEAK=9")
    a, b = [recorded(base, str(i)) for i in (1, 2, 3)], [recorded(leak, str(i)) for i in (7, 8, 9)]
    data = check_figures(*a, "--", *b)
    assert data["diff"]["noise_rule"]
    assert judged(data, "leaky") == {("new", False)}, judged(data, "leaky")
    assert {noise for _, noise in judged(data, "cache") | judged(data, "work")} == {True}, data["diff"]
    page = read(page_of(*a, "--", *b))
    verdict = re.search('id="verdict" data-word="([A-Z]*)">([^<]*)<', page)
    assert verdict[1] == "GREW" and "leaky +43.9K, new" in verdict[2] and "within the noise" in verdict[2], verdict[0]
    same = read(page_of(*a, "--", *(recorded(base, str(i)) for i in (4, 5, 6))))
    assert 'data-word="SAME"' in same and "within the noise" in same


@test
def t_it_is_the_page_of_reports():
    """The same body, script, styles and policy; and names are no markup."""
    a = recorded(f"{TARGETS}/s_markup")
    report = a + ".html"
    assert memtop("report", "-o", report, a).returncode == 0
    change = page_of(a, recorded(f"{TARGETS}/s_markup"))
    for part in (r"<style.*</style>", r'<meta http-equiv[^>]*>', r"<noscript>.*</footer>", r'<script type="module">.*</script>'):
        assert re.search(part, read(change), re.S)[0] == re.search(part, read(report), re.S)[0], part
    parsed = Parsed(read(change))
    assert not parsed.open and parsed.tags.count("script") == 2 and "img" not in parsed.tags
    for tag, name, value in parsed.attributes:
        assert name not in ("src", "href", "srcset", "action", "style") and not name.startswith("on"), (tag, name, value)
    assert "</script><img src=x onerror=alert(1)>" in " ".join(x or "" for x in data_of(change)["frames"]["full"] + data_of(change)["frames"]["name"])


# --- in a browser

def colour_at(b, name):
    """The (red, green, blue) of the frame of a function in the graph, beside its text."""
    return b.run(f"""(() => {{
        const canvas = document.getElementById('canvas'), copy = document.createElement('canvas'), flame = window.memtopPage.flame;
        const g = copy.getContext('2d', {{ willReadFrequently: true }});
        [copy.width, copy.height] = [canvas.width, canvas.height];
        g.drawImage(canvas, 0, 0);
        const row = flame.boxes.findIndex((r) => r && r.some((x) => flame.model.name(x.node) === '{name}'));
        if (row < 0) return null;
        const box = flame.boxes[row].find((x) => flame.model.name(x.node) === '{name}');
        const ratio = canvas.width / canvas.clientWidth;
        return [...g.getImageData((box.x + box.w - 3) * ratio, (flame.top(row) + 15) * ratio, 1, 1).data].slice(0, 3);
    }})()""")


def aria(b):
    return b.run("document.getElementById('flame').getAttribute('aria-label')")


def cells(b, table, column):
    return b.run(f"[...document.querySelector('{table}').tBodies[0].rows].map((r) => r.cells[{column}].textContent)")


OWNERS, SITES = "#tables section:nth-of-type(1) table", "#tables section:nth-of-type(2) table"


@test
def t_red_and_blue_by_clicks():
    b = browse(page_of(one_session("-O1"), one_session("-O1", "-DLEAK=7", "-DLESS")))
    assert aria(b) == "Change, 43.0K", aria(b)  # 34.2K grown and 8.8K shrunk
    red, blue = colour_at(b, "leaky"), colour_at(b, "cache")
    assert red[0] > red[2] + 60 and blue[2] > blue[0] + 10, (red, blue)
    assert b.run("document.getElementById('curve').closest('section').hidden")
    for key, says in (("live", "B, 44.7K"), ("before", "A, 19.3K"), ("grew", "Grown, 34.2K"), ("shrank", "Shrunk, 8.8K")):
        b.click(f"#metric [data-key={key}]")
        assert aria(b) == says, (key, aria(b))
        gone = {"before": "leaky", "shrank": "leaky", "grew": "cache"}.get(key)
        assert not gone or colour_at(b, gone) is None, (key, "a frame without width is drawn")
    assert "Gregg" not in b.text("#meaning")
    b.click("#metric [data-key=live]")
    assert "Gregg" in b.text("#meaning")
    b.click("#unit [data-key=blocks]")
    assert aria(b) == "B, 18", aria(b)
    b.click("#metric [data-key=change]")
    assert aria(b) == "Change, 10", aria(b)
    quiet(b)


@test
def t_keys_search_and_tables():
    b = browse(page_of(one_session("-O1"), one_session("-O1", "-DLEAK=7", "-DLESS")))
    whole = pixels(b)
    b.key("/")
    b.type("leaky")
    b.wait("document.getElementById('found').textContent.includes('34.2K')", "the sum of the hits")
    b.key("Enter")
    assert "+34.2K: A 0, B 34.2K; +7 blocks; new" in b.text("#focus"), b.text("#focus")
    assert cells(b, SITES, 0) == [] or "leaky" in " ".join(cells(b, SITES, 1)), cells(b, SITES, 1)
    b.key("Escape")
    b.key("Escape")
    b.click("#out")
    b.click("#search")
    b.key("Escape")
    assert pixels(b) == whole
    b.run("document.querySelector('#tree tbody tr').focus()")
    for name in ("ArrowDown", "ArrowDown", "Enter"):
        b.key(name)
    assert b.run("document.querySelectorAll('#crumbs button').length") == 4, b.text("#crumbs")
    b.key("Home")
    heads = b.run("[...document.querySelectorAll('#tree th')].map((x) => x.textContent)")
    assert heads == ["Function", "Change", "%", "Own", "A", "B", "Net", "Judged"], heads
    assert "new" in cells(b, "#tree", 7) and "shrunk" in cells(b, "#tree", 7), cells(b, "#tree", 7)
    b.click("#invert [data-key=up]")
    assert b.run("document.querySelectorAll('#tree th').length") == 7
    assert cells(b, OWNERS, 1) == ["+25.4K"] and cells(b, OWNERS, 5) == ["grown"], cells(b, OWNERS, 5)
    b.click(f"{SITES} th:nth-child(5) button")
    assert b.run(f"document.querySelector('{SITES} th:nth-child(5)').getAttribute('aria-sort')") == "descending"
    quiet(b)


@test
def t_dark_narrow_and_on_paper():
    path = page_of(one_session("-O1"), one_session("-O1", "-DLEAK=7"))
    b = browse(path, wide=600)
    assert b.run("document.documentElement.scrollWidth") <= 600, "wider than the window"
    light = colour_at(b, "leaky")
    b.click("#theme [data-key=dark]")
    dark = colour_at(b, "leaky")
    assert dark != light and dark[0] > dark[2] + 40, (light, dark)
    assert b.pdf().startswith(b"%PDF")
    assert colour_at(b, "leaky") == dark, "dark did not come back after printing"
    quiet(b)


@test
def t_no_change_at_all():
    """Both sides are the same session: the graph shows B, all of it grey."""
    a = one_session("-O1")
    b = browse(page_of(a, a))
    assert aria(b) == "B, 19.3K", aria(b)
    red, green, blue = colour_at(b, "cache")
    assert max(red, green, blue) - min(red, green, blue) < 12, (red, green, blue)
    b.click("#metric [data-key=change]")
    assert aria(b) == "Change, 0", aria(b)
    assert set(cells(b, SITES, 8)) == {"same"}, cells(b, SITES, 8)
    quiet(b)


if __name__ == "__main__":
    main()
