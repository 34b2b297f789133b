"""What the documents have in their blocks: README.md and the man pages, as tests run it."""

import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def blocks(language, *path):
    """The blocks of a page in Markdown in this language."""
    return re.findall(rf"```{language}\n(.*?)```", read(*(path or ("README.md",))), re.S)


def examples(name):
    """The examples of a man page, as they were before troff's spelling."""
    found = re.findall(r"^\.EX\n(.*?)^\.EE$", read("man", name), re.S | re.M)
    return [re.sub(r"^\\&", "", text, flags=re.M).replace("\\(aq", "'").replace("\\-", "-").replace("\\e", "\\")
            for text in found]


def one(found, start):
    """The one block that begins like this."""
    found = [text for text in found if text.startswith(start)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} blocks begin with {start!r}")
    return found[0]
