# SPDX-License-Identifier: MIT
"""million.py - a million call paths, each used once: does every block keep a stack by default? A count, no time."""
import os

import figures
import goals
from setting import BUILD, FOLDER, PLAIN, built, output


def rows():
    session = os.path.join(FOLDER, "million.mtop")
    output([os.path.join(BUILD, "memtop"), "record", "-o", session, "--", built("million")], {**PLAIN, "XDG_STATE_HOME": FOLDER})
    words = output([built("endings"), session]).split()
    said = dict(zip(words[::2], map(int, words[1::2])))
    os.unlink(session)
    share = figures.exact(100 * (said["without"] + said["lost"]) / said["blocks"])
    judged = goals.judge("million: % of blocks without a stack", share, 1)
    return figures.table(["1,048,575 call paths, default options", "blocks", "of them", "target"], [
        ("all", said["blocks"], "", ""),
        ("without a stack", said["without"] + said["lost"], f"{share.median:.1f} %", judged),
        ("with a shorter stack", said["shorter"], f"{100 * said['shorter'] / said['blocks']:.1f} %", ""),
        ("the agent's memory", f"{said['agent'] / 2 ** 20:.0f} MiB", "", "")])
