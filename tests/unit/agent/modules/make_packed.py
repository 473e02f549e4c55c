#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make_packed.py > packed_tables.h - relocations as Debian's lld packs them for Android, and as LLVM's reader unpacks them.

One source is compiled for two machines: with addends in the table, and without.
"""
import os
import subprocess
import tempfile

SOURCE = r"""
typedef __SIZE_TYPE__ size_t;
void *malloc(size_t); void free(void *); void *realloc(void *, size_t);
static void *(*const table[])(size_t) = { malloc, malloc, malloc };
struct { long n; void *self; void (*f)(void *); const char *name; } row[7] = {
	{ 1, &row[0], free, "a" }, { 2, &row[1], free, "bb" }, { 3, &row[2], free, "c" }, { 4, &row[3], free, "d" },
	{ 5, &row[0].n, free, "e" }, { 6, 0, 0, "f" }, { 7, (char *)&row[3] + 5, free, 0 } };
extern int far_thing[]; int *from = far_thing + 7, *to = far_thing - 3;
void *by_slot(size_t n) { return table[n & 1](n); }
void *by_name(size_t n) { return n & 1 ? malloc(n) : realloc(0, n); }
"""
READELF = "/usr/lib/llvm-14/bin/llvm-readelf"
SLOTS = (7, 22)  # JUMP_SLOT of both machines: in a table of their own, never packed
MACHINES = (("rela", "x86_64-linux-android26", 0x60000011), ("rel", "armv7a-linux-androideabi26", 0x6000000F))


def table(path, tag):
    """The bytes that DT_ANDROID_... points to; the file is mapped one to one where they are."""
    text = subprocess.run([READELF, "-SW", path], capture_output=True, text=True, check=True).stdout
    kind = {0x60000011: "ANDROID_RELA", 0x6000000F: "ANDROID_REL"}[tag]
    words = next(line.split("]")[1].split() for line in text.splitlines() if f" {kind} " in line)
    at, size = int(words[3], 16), int(words[4], 16)
    with open(path, "rb") as f:
        f.seek(at)
        return f.read(size)


def unpacked(path):
    """What LLVM's own reader makes of it: offset, info, addend."""
    text = subprocess.run([READELF, "-r", "--expand-relocs", "--elf-output-style=LLVM", path], capture_output=True,
                          text=True, check=True).stdout
    found = [{}]
    for line in text.splitlines():
        words = line.split()
        if line.strip() == "Relocation {":
            found.append({})
        elif len(words) >= 2 and words[0] in ("Offset:", "Type:", "Symbol:", "Addend:"):
            number = words[-1].strip("()") if words[0] in ("Type:", "Symbol:") else words[1]
            value = int(number, 0)
            found[-1][words[0]] = value - (1 << 64) if value >> 63 else value
    return [r for r in found if r]


def main():
    print("/* SPDX-License-Identifier: MIT\n *\n * packed_tables.h - made by make_packed.py with "
          + subprocess.run(["ld.lld", "--version"], capture_output=True, text=True, check=True).stdout.split("(")[0].strip()
          + ".\n */")
    with tempfile.TemporaryDirectory() as folder:
        source, obj, out = (os.path.join(folder, n) for n in ("a.c", "a.o", "a.so"))
        with open(source, "w", encoding="utf-8") as f:
            f.write(SOURCE)
        for name, target, tag in MACHINES:
            subprocess.run(["clang", f"--target={target}", "-fPIC", "-O1", "-c", "-o", obj, source], check=True)
            subprocess.run(["ld.lld", "-shared", "-z", "now", "--pack-dyn-relocs=android", "-o", out, obj], check=True)
            packed = table(out, tag)
            rows = [r for r in unpacked(out) if r["Type:"] not in SLOTS]
            shift = 32 if name == "rela" else 8
            print(f"\nstatic const unsigned char packed_{name}[] = {{")
            for i in range(0, len(packed), 12):
                print("\t" + " ".join(f"0x{b:02x}," for b in packed[i:i + 12]))
            print("};\nstatic const struct entry unpacked_" + name + "[] = {")
            for r in rows:
                print(f"\t{{ {r['Offset:']:#x}, {r['Symbol:'] << shift | r['Type:']:#x}, {r.get('Addend:', 0)} }},")
            print("};")


main()
