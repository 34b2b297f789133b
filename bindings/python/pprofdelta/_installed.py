"""Where the command and the heap agent of this package are."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

COMMAND = "pprofdelta"
AGENT = "libpprofdelta-agent.so"


def installed(name: str, folder: str) -> str:
    """The path of a file that came with the package: in its folder of the system's schemes."""
    for file in importlib.metadata.files("pprofdelta") or ():
        if file.name == name and file.parent.name == folder:
            path = Path(str(file.locate()))
            if path.exists():
                return os.path.realpath(path)
    raise FileNotFoundError(f"{name} is not in this installation of the package pprofdelta: install it again")
