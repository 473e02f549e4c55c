#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_no_tables.py - stacks through code without unwind tables: whole, and marked so, where frame
pointers are proven; otherwise they end there, with the reason."""
import os
import platform

from harness import BUILD, MEMTOP, Skip, environment, main, need, recorded, report, run, temporary_folder, test

TARGET = os.path.join(BUILD, "tests", "targets", "s_no_tables")
NO_TABLE = "no unwind table for the code"
KEEPS, NONE, HELD, ASM_KEEPS, ASM_NONE = 1001, 1002, 1003, 1004, 1005


def only_here():
    if platform.machine() != "x86_64":
        raise Skip("frame pointers that prove themselves are x86-64's")


def session():
    only_here()
    path = recorded(TARGET)
    return path, {s["allocated_bytes"] // 100: s for s in report(path)["stacks"] if s["allocated_blocks"] == 100}


def shape(stack):
    """Function or "?", with a * where a frame pointer led to it."""
    return [(f["function"] or "?") + ("*" if f.get("by") == "fp" else "") for f in stack["frames"]
            if f["module"] != "libmemtop-agent.so"]


@test
def t_frame_pointers_lead_through_generated_code():
    path, stacks = session()
    whole = stacks[KEEPS]
    frames = shape(whole)
    assert whole["truncated"] is None, whole["truncated"]
    assert [f.rstrip("*") for f in frames[:6]] == ["get", "?", "middle", "?", "outer", "main"], frames
    assert [f.endswith("*") for f in frames] == [f in ("middle*", "outer*") for f in frames], frames
    assert frames[2] == "middle*" and frames[4] == "outer*", frames


@test
def t_other_code_ends_the_stack():
    _, stacks = session()
    for size in (NONE, HELD):
        assert stacks[size]["truncated"] == NO_TABLE, stacks[size]
        assert shape(stacks[size]) == ["get", "?"], shape(stacks[size])


@test
def t_assembly_in_the_program():
    _, stacks = session()
    assert stacks[ASM_KEEPS]["truncated"] is None
    assert shape(stacks[ASM_KEEPS])[:3] == ["get", "asm_keeps", "main*"], shape(stacks[ASM_KEEPS])
    assert stacks[ASM_NONE]["truncated"] == NO_TABLE
    assert shape(stacks[ASM_NONE]) == ["get", "asm_none"], shape(stacks[ASM_NONE])


@test
def t_reports_say_how_much():
    path, stacks = session()
    found = report(path)["agent"]["stacks"]
    marked = sum(s["allocated_blocks"] for s in report(path)["stacks"] if any(f.get("by") for f in s["frames"]))
    blocks = report(path)["totals"]["allocated_blocks"]
    assert marked == 200 and abs(found["by_fp_percent"] - 100 * marked / blocks) < 0.01, found
    text = run([MEMTOP, "report", path], env=environment()).stdout
    assert "% by frame pointers in part" in text, text
    assert "(fp)" in text, text


@test
def t_engine_that_was_asked_for_marks_nothing():
    only_here()
    path = recorded(TARGET, options="unwind=fp")
    assert not any(f.get("by") for s in report(path)["stacks"] for f in s["frames"])


JAVA = """
import java.nio.*; import java.util.*; import java.util.zip.*;
public class Deep {
  static List<Object> keep = new ArrayList<>();
  static int deep(int n, int k) {
    if (n > 0) return deep(n - 1, k) + 1;
    keep.add(ByteBuffer.allocateDirect(100 + k));
    keep.add(new Deflater());
    return k;
  }
  public static void main(String[] a) { int s = 0; for (int i = 0; i < 500; i++) s += deep(5 + i % 5, i); System.out.println(s); }
}
"""


@test
def t_interpreted_java():
    only_here()
    need("javac")
    folder = temporary_folder()
    with open(folder + "/Deep.java", "w", encoding="utf-8") as f:
        f.write(JAVA)
    done = run(["javac", "-d", folder, folder + "/Deep.java"])
    assert done.returncode == 0, done.stderr
    found = report(recorded("java", "-Xint", "-XX:+UseSerialGC", "-Xmx64m", "-cp", folder, "Deep"))["agent"]["stacks"]
    assert found["whole_percent"] > 99, found
    assert found["by_fp_percent"] > 50, found


main()
