#!/usr/bin/env python3
"""Makes testdata/hostile: files that must be refused, one for each way to be wrong, and what must
be said about each of them.

    make.py [DIRECTORY]     writes the files and expected.json; testdata/hostile by default

A case is a small good profile with one part replaced by a wrong one. Where a message gives an
offset, the case marks the bytes in question, and the offset follows from how the file was put
together: the expectations are made without the program that is held to them. Nothing depends on the
machine or the time, nor on a compressor.

expected.json is a list of
    {"file": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for a file that `pprofdelta check` and a delta judge alike, whether it is PREV or CUR; with
    "delta": [LINE...]
for a file of which a delta says something else; and of
    {"prev": NAME, "cur": NAME, "with": [OPTION...], "exit": CODE, "stderr": [LINE...]}
for two good ones that only a delta refuses. run.py holds the command to it.
"""

import json
import os
import sys

import bad_files
import bad_pairs
import bad_profiles
import bad_requests
from wire import wire


class Corpus:
    def __init__(self):
        self.files, self.expected = {}, []

    def add(self, name, content):
        assert name not in self.files, name
        self.files[name] = wire(content).data

    def expect(self, given, options, code, about=None, says=None, hint=None):
        lines = [f"pprofdelta: {about}: {says}"] if says else []
        lines += [f"pprofdelta: hint: {hint}"] if hint else []
        self.expected.append({**given, "with": list(options), "exit": code, "stderr": lines})

    def refuse(self, name, content, says, where="inflated profile", hint=None, options=()):
        """A file, and why it is refused. Where something is marked, the message ends in where."""
        self.add(name, content)
        mark = wire(content).mark
        if mark is not None:
            says += f" (at byte {mark} of the {where})"
        self.expect({"file": name}, options, 1, name, says, hint)

    def of_request(self, name):
        """What a delta says of an OTLP request, before it reads it."""
        return {"delta": [f"pprofdelta: {name}: this is an OTLP request; a delta needs cumulative pprof profiles",
                          "pprofdelta: hint: fetch the profiles as pprof; pprofdelta show prints what is in a request"]}

    def refuse_request(self, name, content, says):
        """An OTLP request, and why `check` refuses it."""
        self.add(name, content)
        mark = wire(content).mark
        if mark is not None:
            says += f" (at byte {mark} of the inflated profile)"
        self.expect({"file": name, **self.of_request(name)}, [], 1, name, says)

    def accept_request(self, name, content):
        self.add(name, content)
        self.expect({"file": name, **self.of_request(name)}, [], 0)

    def accept(self, name, content):
        """A valid file, for pairs; returns its name."""
        self.add(name, content)
        self.expect({"file": name}, [], 0)
        return name

    def refuse_pair(self, prev, cur, says, about=None, hint=None, options=()):
        """Two files, and why there is no delta; `about` is whom the message names, if not both."""
        about = about or f"{prev} and {cur}"
        self.expect({"prev": prev, "cur": cur}, options, 1, about, says, hint)

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name in set(os.listdir(folder)) - set(self.files):
            os.remove(os.path.join(folder, name))
        for name, content in self.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(entry) for entry in self.expected) + "\n]\n")


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/hostile")
    corpus = Corpus()
    for cases in (bad_profiles, bad_files, bad_pairs, bad_requests):
        cases.make(corpus)
    corpus.write(sys.argv[1] if len(sys.argv) > 1 else folder)
    size = sum(map(len, corpus.files.values()))
    print(f"{len(corpus.files)} files, {size} bytes, {len(corpus.expected)} expectations")


if __name__ == "__main__":
    main()
