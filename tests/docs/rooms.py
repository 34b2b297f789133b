"""Do the rooms of a part hold their order? The README of a part has a table of its rooms, bottom room first:

    | room | what is in it |
    |---|---|
    | `base/` | ... |
    | `start.c` | ... |

A room is a folder, or a file of the part itself. A file includes headers of its own room and of the rooms above
it in the table only. The table has every room, and no room that is gone.

usage: rooms.py SOURCE_ROOT PART...      (rooms.py . lib)"""

import os
import re
import sys
import tempfile

SOURCES = (".c", ".h", ".cc", ".inc")


def table_of(readme):
    """The names in the first column of the table whose first heading is "room"."""
    rows = re.search(r"^\| *room *\|.*\n\|[-| :]+\|\n((?:\|.*\n)+)", readme, re.M)
    cells = [row.split("|")[1] for row in rows[1].splitlines()] if rows else []
    return [name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def files_of(part):
    """The sources of the part, as paths from the part."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(part) for name in names)
    return sorted(os.path.relpath(path, part) for path in found if path.endswith(SOURCES))


def room_of(path):
    return path.split(os.sep)[0]


def included(root, part, path):
    """The files of the part that the file includes, as paths from the part."""
    with open(os.path.join(part, path), encoding="utf-8") as file:
        names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.M)
    places = os.path.dirname(os.path.join(part, path)), root, part, os.path.join(part, "include")
    for name in names:
        candidates = (os.path.normpath(os.path.join(place, name)) for place in places)
        file = next(filter(os.path.isfile, candidates), None)
        if file and not os.path.relpath(file, part).startswith(os.pardir):
            yield os.path.relpath(file, part)


def faults_of(root, name):
    part = os.path.join(root, name)
    with open(os.path.join(part, "README.md"), encoding="utf-8") as file:
        rooms = table_of(file.read())
    files = files_of(part)
    there = {room_of(path) for path in files}
    faults = [f"{name}/README.md has no row for {room}" for room in sorted(there - set(rooms))]
    faults += [f"{name}/README.md: {room} has no sources" for room in rooms if room not in there]
    faults += [f"{name}/README.md has {room} twice" for room in set(rooms) if rooms.count(room) > 1]
    if faults:
        return faults
    return [f"{name}/{path} includes {other}, which is of a later room" for path in files
            for other in included(root, part, path)
            if rooms.index(room_of(other)) > rooms.index(room_of(path))]


def check_itself():
    """Each fault is found in a part that has it."""
    readme = "| room | what |\n|---|---|\n| `a/` | first |\n| `b/` | second |\n| `start.c` | last |\n"
    good = {"README.md": readme, "a/a.h": "", "b/b.c": '#include "a/a.h"\n', "start.c": '#include "b/b.c"\n'}
    cases = [
        ({}, None),
        ({"a/a.c": '#include "b/b.c"\n'}, "a/a.c includes b/b.c"),
        ({"a/a.c": '#include "part/b/b.c"\n'}, "a/a.c includes b/b.c"),
        ({"a/a.c": ' # include "../start.c"\n'}, "a/a.c includes start.c"),
        ({"c/c.c": ""}, "no row for c"),
        ({"README.md": readme.replace("second |\n", "second |\n| `c/` | gone |\n")}, "c has no sources"),
        ({"README.md": readme.replace("second |\n", "second |\n| `a/` | again |\n")}, "a twice"),
        ({"README.md": "no table\n"}, "no row for a"),
    ]
    for changes, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**good, **changes}.items():
                path = os.path.join(root, "part", path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            faults = faults_of(root, "part")
        assert bool(faults) == bool(expected) and (not expected or expected in faults[0]), (expected, faults)


check_itself()
source_root = os.path.abspath(sys.argv[1])
all_faults = [fault for part in sys.argv[2:] for fault in faults_of(source_root, part)]
files = sum(len(files_of(os.path.join(source_root, part))) for part in sys.argv[2:])
for fault in all_faults:
    print("FAILED", fault)
print(f"{files} passed, {len(all_faults)} failed")
sys.exit(1 if all_faults or not sys.argv[2:] else 0)
