#!/usr/bin/env python3
"""Puts the page of `show --flame` into two arrays of a C header, cut where the data belongs.

    embed.py page.html page.css tree.js ... page.js OUT.h

The style stands where the page says {{style}}, the scripts in their order where it says {{script}}.
"""

import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def array(name, text):
    data = text.encode()
    rows = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return "static const char %s[] = {\n    %s};\n" % (name, ",\n    ".join(rows))


def main(page, style, *scripts_and_out):
    scripts, out = scripts_and_out[:-1], scripts_and_out[-1]
    script = "\n".join(read(path) for path in scripts)
    whole = read(page).replace("{{style}}", read(style)).replace("{{script}}", script)
    if whole.isascii() is False:
        sys.exit("embed.py: the page must be ASCII, so that char can hold it everywhere")
    head, data, tail = whole.partition("{{data}}")
    if not data or "{{" in head or "{{data}}" in tail:
        sys.exit("embed.py: the page must have each of its places once")
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by embed.py from the files in cli/show/flame/. */\n")
        file.write(array("flame_page_head", head) + array("flame_page_tail", tail))


if __name__ == "__main__":
    main(*sys.argv[1:])
