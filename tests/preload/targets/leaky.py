"""Leaks in a way that packages have leaked, and in one that programs have, so many times: leaky.py TIMES"""

import asyncio
import functools
import os
import sys

import pack


class Report:
    def __init__(self):
        self.rows = bytes(3000)  # at rows

    @functools.lru_cache(maxsize=None)
    def total(self):
        return len(self.rows)


async def main():
    for _ in range(int(sys.argv[1])):
        asyncio.ensure_future(pack.answer())
        Report().total()
        await asyncio.sleep(0.002)
    os._exit(0)


asyncio.new_event_loop().run_until_complete(main())
