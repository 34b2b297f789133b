#!/usr/bin/env python3
"""How long the page of `show --flame` takes for a picture of 50,000 samples: frames.py PPROFDELTA

Prints the median and the longest time of the script and of the rendering of each action, in
milliseconds; a picture at 60 frames a second has 16.7. A view that is chosen is built once. Nothing is
asserted, because the figures depend on the machine.
"""

import os
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "e2e"), os.path.join(here, "..", "cli")]
sys.dont_write_bytecode = True

import browser  # noqa: E402
import flame  # noqa: E402

# From the action to the task after the picture, so layout and painting count, but no waiting for the screen.
MEASURE = """
new Promise(done => requestAnimationFrame(() => {
  const began = performance.now();
  (() => { %s })();
  document.body.getBoundingClientRect();
  requestAnimationFrame(() => { const channel = new MessageChannel(); const asked = performance.now();
    channel.port1.onmessage = () => done([between, performance.now() - asked]); channel.port2.postMessage(0); });
  const between = performance.now() - began;
}))"""

KEY = "document.querySelector('#graph').dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
SEARCH = "(s => { s.value = %s; s.dispatchEvent(new Event('input')) })(document.querySelector('#search'))"
POINT = ("(g => g.dispatchEvent(new MouseEvent('mousemove', {clientX: 100 + 700 * Math.random(), "
         "clientY: g.getBoundingClientRect().y + 300 * Math.random()})))(document.querySelector('#graph'))")
ACTIONS = [("move the pointer", POINT), ("scroll", "document.querySelector('#view').scrollTop = 300 * Math.random()"),
           ("search: one more letter", SEARCH % "'Type1' + Math.floor(10 * Math.random())"),
           ("search: a pattern", SEARCH % "'/Type(1|2)' + Math.floor(10 * Math.random()) + '/'"),
           ("search: cleared", SEARCH % "''"), ("more rows", "document.querySelector('#more').click()"),
           ("next frame", KEY % "ArrowDown"), ("zoom", KEY % "Enter"), ("whole graph", KEY % "Escape")]
BUILDS = [("inverted", KEY % "i"), ("flame graph", KEY % "g"), ("another type", KEY % "t")]


def main(binary):
    path = browser.find()
    if not path:
        sys.exit("there is no Chromium here")
    with tempfile.TemporaryDirectory() as folder:
        profile, page = os.path.join(folder, "a.pb.gz"), os.path.join(folder, "page.html")
        with open(profile, "wb") as file:
            file.write(flame.fifty_thousand())
        subprocess.run([binary, "show", profile, "--flame", page], check=True)
        window = browser.Browser(path)
        window.open(page)
        print(f"{'':26}{'script':>16}{'rendering':>18}")
        for name, action in ACTIONS + BUILDS:
            times = [window.run(MEASURE % action) for _ in range(4 if (name, action) in BUILDS else 20)]
            window.settle()
            print(f"{name:26}" + "  ".join(f"{statistics.median(column):7.1f} {max(column):7.1f}"
                                           for column in zip(*times)))
        window.close()


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
