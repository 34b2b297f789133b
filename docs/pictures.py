#!/usr/bin/env python3
"""Pictures of a page as a browser shows it: in light and dark, at the size that is asked for.

usage: pictures.py PAGE WIDTH HEIGHT OUT

writes OUT-light.webp and OUT-dark.webp."""

import base64
import os
import pathlib
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e")]
import browser  # noqa: E402

page, width, height, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
program = browser.find() or sys.exit("pictures.py: there is no Chromium: install the package chromium")
shown = browser.Browser(program, width, height)
for scheme in ("light", "dark"):
    shown.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    shown.open(os.path.abspath(page))
    picture = shown.call("Page.captureScreenshot", format="webp", quality=90)["data"]
    pathlib.Path(f"{out}-{scheme}.webp").write_bytes(base64.b64decode(picture))
shown.close()
