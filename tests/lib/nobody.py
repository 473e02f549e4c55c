# SPDX-License-Identifier: MIT
"""nobody.py - programs as a user without rights: the command, and files where that user can read them."""
import atexit
import functools
import os
import shutil
import stat
import tempfile

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def reachable(path):
    """Can each user read the file and go through the folders above it?"""
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


@functools.cache
def folder():
    path = tempfile.mkdtemp(prefix="memtop-test-")
    os.chmod(path, 0o755)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def within_reach(path):
    """The file, or a copy of it where each user can read it: root's home has mode 0700, and the build may lie in it."""
    path = os.path.abspath(path)
    return path if reachable(path) else shutil.copy(path, folder())
