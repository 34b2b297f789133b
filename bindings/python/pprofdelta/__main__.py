"""`python -m pprofdelta VERB ...`: the command of this package. For `record`, a script or a module of Python is a program:

python -m pprofdelta record -o profiles app.py ARG...
python -m pprofdelta record -o profiles -m gunicorn app:application
"""

from __future__ import annotations

import os
import sys

from ._installed import COMMAND, installed


def arguments(given: list[str]) -> list[str]:
    """Those of the command: a script, and -m or -c, are run by the Python that runs this module."""
    if given[:1] != ["record"] or "--" in given or "--pid" in given:
        return given
    for at, word in enumerate(given):
        if word in ("-m", "-c") or word.endswith((".py", ".pyz")):
            return [*given[:at], "--", sys.executable, *given[at:]]
    return given


def main() -> None:
    path = installed(COMMAND, "bin")
    os.execv(path, [path, *arguments(sys.argv[1:])])


if __name__ == "__main__":
    main()
