#!/usr/bin/env python3
"""What the page of `show --flame` costs for a picture of 50,000 samples: frames.py PPROFDELTA

Prints the processor time of the page's main thread for each picture of an action, as Chromium counts it:
script, style, layout and painting, in milliseconds, the median and the most. A picture at 60 frames a second
has 16.7. An action lasts until nothing moves; the last column is the number of its pictures. The last actions
build a view. Nothing is asserted, because the figures depend on the machine.
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

KEY = "document.querySelector('#graph').dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
SEARCH = "(s => { s.value = %s; s.dispatchEvent(new Event('input')) })(document.querySelector('#search'))"
POINT = ("(g => g.dispatchEvent(new MouseEvent('mousemove', {clientX: 100 + 700 * Math.random(), "
         "clientY: g.getBoundingClientRect().y + 300 * Math.random()})))(document.querySelector('#graph'))")
ACTIONS = [("move the pointer", POINT), ("scroll", "document.querySelector('#view').scrollTop = 300 * Math.random()"),
           ("search: one more letter", SEARCH % "'Type1' + Math.floor(10 * Math.random())"),
           ("search: a pattern", SEARCH % "'/Type(1|2)' + Math.floor(10 * Math.random()) + '/'"),
           ("search: cleared", SEARCH % "''"), ("more rows", "document.querySelector('#more').click()"),
           ("next frame", KEY % "ArrowDown"), ("frame beside", KEY % "ArrowRight"), ("zoom", KEY % "Enter"), ("whole graph", KEY % "Escape")]
BUILDS = [("inverted", KEY % "i"), ("flame graph", KEY % "g"), ("another type", KEY % "t")]
NEXT = ("new Promise(done => requestAnimationFrame(() => setTimeout(() => "
        "done(document.querySelector('[data-moves=true]') !== null))))")


def costs(window, action):
    """Of the action with the next picture, and of each picture after it until nothing moves."""
    def spent():
        metrics = window.call("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    times, before, moves = [], spent(), window.run(f"(() => {{ {action} }})(); {NEXT}")
    while True:
        now = spent()
        times.append(now - before)
        if not moves:
            return times
        before, moves = now, window.run(NEXT)


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
        window.call("Performance.enable", timeDomain="threadTicks")
        measured = {name: [] for name, _ in ACTIONS + BUILDS}
        for name, action in ACTIONS:
            measured[name] += [costs(window, action) for _ in range(20)]
        for _ in range(4):
            for name, action in BUILDS:
                measured[name] += [costs(window, action)]
        for name, actions in measured.items():
            times = [time for times in actions for time in times]
            print(f"{name:26} {statistics.median(times):7.1f} {max(times):7.1f} {max(map(len, actions)):5}")
        window.close()


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
