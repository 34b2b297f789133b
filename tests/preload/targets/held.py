"""Holds objects, says how many bytes each line holds, and ends: held.py exit|wait|fork [SECONDS BEFORE]

A line is known by the word behind its mark. Kinds of objects that an interpreter keeps for use again are avoided:
such a one keeps the line of its first life."""

import ctypes
import gc
import json
import os
import sys
import threading
import time

N = 400
held, truth = [], {}


def note(line, size):
    truth[line] = truth.get(line, 0) + size


def sizes(objects):
    return sum(map(sys.getsizeof, objects))


class Node:
    __slots__ = "a", "b"

    def made(self):
        return bytes(77)  # at method


def hold_bytes():
    rows = [None] * N  # at table
    for i in range(N):
        rows[i] = bytes(20 + 2 * i)  # at bytes
    note("bytes", sizes(rows))
    note("table", 8 * N)
    held.append(rows)


def hold_nodes():
    rows = [None] * N
    for i in range(N):
        rows[i] = Node()  # at nodes
    note("nodes", sizes(rows))
    rows[0].a = rows[1]
    rows[1].a = rows[0]
    held.append(rows)


def hold_method():
    node, rows = Node(), [None] * N
    for i in range(N):
        rows[i] = node.made()
    note("method", sizes(rows))
    held.append(rows)


def hold_grown():
    rows = []
    for i in range(N):
        rows.append(None)  # at append
    note("append", sys.getsizeof(rows) - sys.getsizeof([]))
    small = []
    for i in range(9):
        small.append(None)  # at small
    note("small", sys.getsizeof(small) - sys.getsizeof([]))
    table = {}
    for i in range(N):
        table[i] = None  # at dict
    note("dict", sys.getsizeof(table) - sys.getsizeof({}))
    held.extend((rows, small, table))


def hold_large():
    rows = [None] * 8
    for i in range(8):
        rows[i] = "é" * (10000 + i)  # at text
    note("text", sizes(rows))
    held.append(rows)


def numbers():
    for size in range(30, 30 + N):
        yield bytes(size)  # at generator


def hold_generated():
    rows, i = [None] * N, 0
    for row in numbers():
        rows[i] = row
        i += 1
    note("generator", sizes(rows))
    held.append(rows)


async def awaited(i):
    return bytes(40 + i)  # at coroutine


async def awaits(i):
    return await awaited(i)


def hold_awaited():
    rows = [None] * N
    for i in range(N):
        try:
            awaits(i).send(None)
        except StopIteration as end:
            rows[i] = end.value
    note("coroutine", sizes(rows))
    held.append(rows)


def callback(i):
    return bytes(50 + i)  # at callback


def hold_called():
    rows = list(map(callback, range(N)))
    note("callback", sizes(rows))
    held.append(rows)


def hold_without_lock():
    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = None, [ctypes.c_size_t]
    for _ in range(5):
        malloc(12345)  # at native
    note("native", 5 * 12345)


def hold_rotating():
    ring = [None] * 100
    for i in range(100 * N):
        ring[i % 100] = bytes(100 + i % 7)  # at rotating
    note("rotating", sizes(ring))
    held.append(ring)


def resize_all():
    """What is resized again and again, up and down, in place and not."""
    rows = [bytearray() for _ in range(20)]
    for size in (10, 12, 500, 30, 600, 590, 20, 2000, 513, 512, 511, 300):
        for row in rows:
            row.clear()
            row.extend(b"x" * size)  # at resized
            if row != b"x" * size:
                sys.exit("a block has lost its contents")
    note("resized", 0)


def deep(n):
    if n:
        return deep(n - 1)
    return bytes(5000)  # at deep


def free_all():
    rows = [None] * N
    for i in range(N):
        rows[i] = bytes(20 + 2 * i)  # at freed
    for i in range(N):
        rows[i] = Node()  # at freed too
    note("freed", 0)
    note("freed too", 0)


time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
gc.disable()
for hold in hold_bytes, hold_nodes, hold_method, hold_grown, hold_large, hold_generated, hold_awaited, hold_called, hold_without_lock, hold_rotating, resize_all:
    hold()
worker = threading.Thread(target=lambda: held.append([bytes(333) for _ in range(N)]))  # at thread
worker.start()
worker.join()
held.append(deep(600))
note("deep", sys.getsizeof(held[-1]))
free_all()
print(json.dumps(truth), flush=True)
if sys.argv[1] == "wait":
    time.sleep(1000)
if sys.argv[1] == "fork":
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        hold_nodes()
        print(json.dumps(truth), flush=True)
os._exit(0)
