# SPDX-License-Identifier: MIT
"""hostileprog.py - a real program with hostile text in its own name, its functions, threads,
libraries, marks, source files and output: control sequences, hidden or reordered text, invalid
UTF-8, very long names.

No compiler accepts such names. So the program is built with plain names of the same length, which
are replaced in the symbol tables and DWARF of the finished files.
"""
import os
import subprocess

import harness

NAMES = {
    "csi": b"\x1b[21t\x1b[?1003h",
    "osc": b"\x1b]52;c;ZXZpbA==\x07\x1b]0;evil\x07",
    "dcs": b"\x1bP$qm\x1b\\\x1b_x\x1b\\",
    "cone": "\u009b21t\u0085\u009d0;x\u009c".encode(),
    "raw": b"\x9b21t\x9d0;x\x9c\x85",
    "bidi": "\u202eabc\u2066\u2067\u200f\u061c".encode(),
    "zero": "a\u200bb\u200d\ufeff\u00ad\u2060".encode(),
    "bad": b"\xc0\x9b\xe0\x80\xaf\xed\xa0\x80\xff\xfe\xf4\x90\x80\x80",
    "accent": ("e" + "\u0301" * 100).encode(),
    "leading": "\u0301\u0302x".encode(),
    "wide": "日本語テスト👍🏽👨‍👩‍👧❤️🇩🇪".encode(),
    "tabs": b"a\tb\nc\rd\x08\x08e\x0bf\x0cg",
    "tall": b"L" * 10000,
}
SHORT = b"\x1b[21t\xe2\x80\xae\x9b\xc2\x9d\xcc\x81" + "日👍".encode()  # something of each, for what must be short


def placeholder(tag, payload):
    head = f"{tag}_"
    return head + "q" * (len(tag.encode() + payload) + 1 - len(head) if len(payload) > 1 else 1)


def literal(data):
    return '"' + "".join(f"\\{b:03o}" for b in data) + '"'


def source(library):
    tags = dict(list(NAMES.items())[::3] if library else NAMES)
    prefix = "l" if library else ""
    out = ["#include <memtop/memtop.h>", "#include <pthread.h>", "#include <stdio.h>", "#include <stdlib.h>",
           "#include <string.h>", "#include <unistd.h>", "static void *volatile kept[64];"]
    calls = []
    for n, (tag, payload) in enumerate(tags.items()):
        out += [f"static __attribute__((noinline)) void {placeholder(prefix + tag, payload)}(int i)", "{",
                "\tkept[i] = malloc(%d); /* " % (100 * (n + 1))]
        out.append(payload.decode("latin-1").replace("*/", "") + " */")
        out += ["\t__asm__ volatile(\"\" ::: \"memory\");", "}"]
        calls.append(f"\t{placeholder(prefix + tag, payload)}({n});")
    if library:
        return "\n".join([*out, "void library_runs(void)", "{", *calls, "}", ""])
    names = ", ".join(literal(t[:15]) for t in (t.encode() + p for t, p in NAMES.items()))
    marks = ", ".join(literal(t[:60]) for t in (t.encode() + p for t, p in NAMES.items()))
    printed = b"".join(t.encode() + p + b"\n" for t, p in NAMES.items())
    return "\n".join([
        *out, "void library_runs(void);", f"static const char *const names[] = {{ {names} }}, *const marks[] = {{ {marks} }};",
        "static void *thread(void *arg)", "{", "\tpthread_setname_np(pthread_self(), arg);", "\tkept[63] = malloc(5000);",
        "\tpause();", "\treturn NULL;", "}", "int main(void)", "{", *calls, "\tlibrary_runs();",
        f"\tfor (int i = 0; i < {len(NAMES)}; i++) {{", "\t\tpthread_t t;",
        "\t\tpthread_create(&t, NULL, thread, (void *)names[i]);", "\t\tmemtop_set_mark(marks[i]);",
        "\t\tkept[62] = malloc(3000);", "\t}", f"\tfwrite({literal(printed)}, 1, {len(printed)}, stdout);",
        "\tfflush(stdout);", "\tfor (;;) {", "\t\tfree(malloc(100));", "\t\tusleep(20000);", "\t}", "}", ""])


def build(folder):
    """The program in a folder of that kind: its path (bytes), and its command line."""
    folder = os.fsencode(folder) + b"/dir" + SHORT
    os.mkdir(folder)
    program, library = folder + b"/prog" + SHORT, folder + b"/lib" + SHORT + b".so"
    for path, is_library in ((library, True), (program, False)):
        text = folder + (b"/lib" if is_library else b"/main") + SHORT + b".c"
        with open(text, "wb") as f:
            f.write(source(is_library).encode("latin-1"))
        flags = ["-shared", "-fPIC"] if is_library else [library]
        subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-w", "-fno-builtin",
                        "-I" + os.path.join(harness.ROOT, "include"), "-o", path, text, *flags, "-lpthread"], check=True)
    for path, prefix in ((program, ""), (library, "l")):
        with open(path, "rb") as f:
            data = f.read()
        for tag, payload in NAMES.items():
            plain = placeholder(prefix + tag, payload).encode() + b"\0"
            data = data.replace(plain, ((prefix + tag).encode() + payload + b"z").ljust(len(plain) - 1, b"z") + b"\0")
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, 0o755)
    return program, [program, *(t.encode() + p for t, p in NAMES.items() if t != "tall"), b"--x=" + SHORT]
