# SPDX-License-Identifier: MIT
"""debuginfod.py - a debuginfod server for one test, correct or faulty; and a program with a library
whose debug files lie elsewhere."""
import contextlib
import http.server
import os
import re
import threading

from harness import at_end, environment, run, temporary_folder

LIBRARY = """
#include <stdlib.h>
static inline __attribute__((always_inline)) char *inlined_part(unsigned n) { return malloc(n); }
char *library_work(unsigned n)
{
	char *p = inlined_part(n);
	p[0] = 1;
	return p;
}
"""


class Program:
    """Runs library_work(), of a library that has its dynamic symbols alone; both debug files are here, by build-id."""

    def __init__(self, libraries=1):
        self.folder = temporary_folder()
        self.files = {}
        for i in range(libraries):
            self.built(f"libwork{i}.so", LIBRARY.replace("library_work", f"library_work{i}"), "-shared", "-fPIC")
        calls = " ".join(f"library_work{i}(1000)[1] = 2;" for i in range(libraries))
        declared = " ".join(f"char *library_work{i}(unsigned n);" for i in range(libraries))
        self.built("prog", f"#include <stdlib.h>\n#include <unistd.h>\n{declared}\nint main(void) {{ {calls} if (getenv(\"STAY\")) for (;;) pause(); return 0; }}",
                   f"-L{self.folder}", *[f"-lwork{i}" for i in range(libraries)], f"-Wl,-rpath,{self.folder}")
        self.path = f"{self.folder}/prog"

    def built(self, name, source, *flags):
        path = f"{self.folder}/{name}"
        with open(f"{path}.c", "w", encoding="ascii") as f:
            f.write(source)
        for command in (["gcc", "-g", "-O1", "-Wl,--build-id", "-o", path, path + ".c", *flags], ["objcopy", "--only-keep-debug", path, path + ".debug"],
                        ["strip", path]):
            done = run(command)
            assert done.returncode == 0, done.stderr
        build_id = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", path]).stdout)[1]
        with open(path + ".debug", "rb") as f:
            self.files[build_id] = f.read()
        os.unlink(path + ".debug")
        os.unlink(path + ".c")


class Server:
    """Of the files of a Program; .asked: the build-ids, in order. `slow`: holds the second half of each back until .go is set;
    `dead`: takes connections and says nothing; `drips`: a byte a second; `none`: has no file."""

    def __init__(self, files, how=""):
        self.asked, self.go = [], threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                build_id = re.fullmatch(r"/buildid/([0-9a-f]+)/debuginfo", self.path)
                outer.asked.append(build_id[1] if build_id else self.path)
                if how == "dead":
                    outer.go.wait()
                    return
                data = files.get(build_id[1]) if build_id and how != "none" else None
                if data is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if how == "drips":
                    self.drip(data)
                    return
                half = len(data) // 2
                self.wfile.write(data[:half])
                self.wfile.flush()
                if how == "slow":
                    outer.go.wait()
                self.wfile.write(data[half:])

            def drip(self, data):
                with contextlib.suppress(OSError):
                    for byte in data:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        if outer.go.wait(1):
                            break

            def log_message(self, *arguments):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        at_end(self.end)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def end(self):
        self.go.set()
        self.http.shutdown()
        self.http.server_close()

    def environment(self, **more):
        """With a cache that is empty."""
        return environment(DEBUGINFOD_URLS=self.url, DEBUGINFOD_CACHE_PATH=temporary_folder(), **more)
