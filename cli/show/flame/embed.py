#!/usr/bin/env python3
"""Puts a page into two strings of a C header, cut where the data belongs.

    embed.py page.html page.css tree.js ... [report.html ...] flame.js NAME_page.h

The styles stand where the page says {{style}}, the scripts in their order where it says {{script}}, and a
further HTML file where it says {{report}}.
"""

import os
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def array(name, text):
    data = text.encode() + b"\0"
    rows = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return "static const char %s[] = {\n    %s};\n" % (name, ",\n    ".join(rows))


def main(*parts_and_out):
    parts, out = parts_and_out[:-1], parts_and_out[-1]
    page, *reports = [read(path) for path in parts if path.endswith(".html")]
    style, script = ("\n".join(read(path) for path in parts if path.endswith(end)) for end in (".css", ".js"))
    whole = page.replace("{{style}}", style).replace("{{script}}", script).replace("{{report}}", "".join(reports))
    if whole.isascii() is False:
        sys.exit("embed.py: the page must be ASCII, so that char can hold it everywhere")
    head, data, tail = whole.partition("{{data}}")
    if not data or "{{" in head or "{{data}}" in tail:
        sys.exit("embed.py: the page must have each of its places once")
    name = os.path.basename(out)[:-2]
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by embed.py from the files in cli/show/flame/ and cli/leaks/page/. */\n")
        file.write(array(name + "_head", head) + array(name + "_tail", tail))


if __name__ == "__main__":
    main(*sys.argv[1:])
