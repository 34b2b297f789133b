"""The states of a stream, in files: one for each partition and micro-batch.

    record | record | ... | index | length of the index | magic

A record is what a target leaves behind: a line of JSON, the bytes of `Context.save`, and the profiles that wait. The
index, JSON too, has the place of the record of every target of the partition. The record of a target that had no
profiles in a micro-batch stays in the file of an earlier one. So a micro-batch costs what its own targets cost.

A new file takes over the records of each file of which less than a half is in use, and of each file that has at most
twice as many bytes in use as the new one. So the number of files grows with the logarithm of the bytes, and the files
of one micro-batch have at most twice the bytes of the states.

Each partition has a folder. A file is written under another name and renamed, so it is complete. A task that runs again
replaces it by a file with the same records. Micro-batch N reads the files that N - 1 has left. It removes all others:
those that only N - 2 needed, and those that killed tasks left.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple

from pyarrow import fs

from ._windows import Profile

HELD_BYTES = 32 << 20
_BUFFER = 256 << 10
_END = struct.Struct("<Q8s")
_MAGIC = b"ppdspark"
_NAME = re.compile(r".*/\d+-of-(\d+)/(\d+)")


class Record(NamedTuple):
    """The place of a record, and the micro-batch of the last accepted profile of its target, in ms since 1970."""

    news: int
    batch: int
    offset: int
    length: int


class Waiting:
    """Profiles that wait, in the order of their times, with a length in the place of the data. The data is in a file,
    one after the other: a record of a state, or a new file, which is in memory until it is large."""

    def __init__(self, places: Iterable[Profile] = (), file: IO[bytes] | None = None) -> None:
        self.places = deque(places)
        self.file = file or SpooledTemporaryFile(HELD_BYTES)
        self.begin = self.file.tell()  # of the data of these profiles

    def add(self, one: Profile) -> None:
        self.file.seek(0, io.SEEK_END)
        self.places.append(one if one.data is None else one._replace(data=self.file.write(one.data)))

    def until(self, time: int | None = None) -> Iterator[Profile]:
        """Removes the profiles until this time (None: all), and gives them in order."""
        while self.places and (time is None or self.places[0].time <= time):
            one = self.places.popleft()
            if one.data is not None:
                self.file.seek(self.begin)
                self.begin += one.data
                one = one._replace(data=self.file.read(one.data))
            yield one


def _profile(time: int, number: int, length: int | None, told: dict[str, Any] | None) -> Profile:
    """A profile that waits, from JSON, where the pairs of a map are lists."""
    told = told and {key: [*map(tuple, one)] if isinstance(one, list) else one for key, one in told.items()}
    return Profile(time, number, length, told)


class Folder:
    """The folder with the folders of all partitions."""

    def __init__(self, states: str) -> None:
        is_uri = re.match("[a-z0-9]+:/", states)
        where = re.sub("^s3[an]:", "s3:", states) if is_uri else os.path.abspath(states)
        self.files, self.path = fs.FileSystem.from_uri(where)

    def of(self, part: int, parts: int) -> str:
        return f"{self.path}/{part}-of-{parts}"

    def partitions(self, batch: int, wanted: int | None) -> int | None:
        """The number of partitions of a query whose next micro-batch is `batch`. None: it has none yet."""
        self.files.create_dir(self.path)
        paths = (info.path for info in self.files.get_file_info(fs.FileSelector(self.path, recursive=True)))
        found = {int(name[2]): int(name[1]) for name in map(_NAME.fullmatch, paths) if name}
        newest = max(found, default=-1)
        if not batch - 1 <= newest <= batch:
            here = f"those of micro-batch {newest}" if found else "none"
            told = f"{self.path}: micro-batch {batch} needs the states of the one before, and there are {here}."
            raise RuntimeError(f"{told} A checkpoint and its states belong together: restore both, or begin anew")
        parts = found.get(newest, wanted)
        if wanted not in (None, parts):
            raise ValueError(f"partitions={wanted}: the checkpoint has {parts}, which cannot change")
        return parts

    def is_complete(self, batch: int, parts: int) -> bool:
        """Whether each partition has its file of this micro-batch."""
        found = self.files.get_file_info([f"{self.of(part, parts)}/{batch}" for part in range(parts)])
        return all(info.type == fs.FileType.File for info in found)

    def replace(self, temporary: str, name: str) -> None:
        try:
            self.files.move(temporary, name)
        except OSError:  # HDFS replaces no file
            if self.files.get_file_info(temporary).type == fs.FileType.NotFound:
                raise
            self.files.delete_file(name)
            self.files.move(temporary, name)


class States:
    """The states of a partition: those that the micro-batch before has left, and those that `batch` leaves."""

    def __init__(self, folder: Folder, batch: int, parts: int, now: int, part: int) -> None:
        self.folder, self.path, self.batch, self.now = folder, folder.of(part, parts), batch, now
        self.readers: dict[int, IO[bytes]] = {}
        self.index: dict[Any, Record] = {}
        self.clock = 0  # of the micro-batch before
        if batch:
            self.clock, targets = self._index(batch - 1)
            self.index = {target: Record(*record) for target, *record in targets}
        folder.files.create_dir(self.path)
        self.sizes = self._cleaned()
        self.temporary = f"{self.path}/{batch}.{uuid.uuid4().hex}.tmp"
        self.out = folder.files.open_output_stream(self.temporary, buffer_size=_BUFFER)

    def _cleaned(self) -> dict[int, int]:
        """The bytes of the files in use. Removes what is in the folder from earlier micro-batches beside them."""
        in_use = {str(self.batch - 1), *(str(record.batch) for record in self.index.values())}
        sizes = {}
        for info in self.folder.files.get_file_info(fs.FileSelector(self.path)):
            batch = info.base_name.partition(".")[0]
            if info.base_name in in_use:
                sizes[int(batch)] = info.size
            elif batch.isdecimal() and int(batch) < self.batch:
                self._remove(info.path)
        return sizes

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):  # another attempt at this task has removed it
            self.folder.files.delete_file(path)

    def _reader(self, batch: int) -> IO[bytes]:
        if batch not in self.readers:
            file: Any = self.folder.files.open_input_file(f"{self.path}/{batch}")
            self.readers[batch] = io.BufferedReader(file, _BUFFER)
        return self.readers[batch]

    def _index(self, batch: int) -> list[Any]:
        file = self._reader(batch)
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - _END.size))
        length, magic = _END.unpack(file.read(_END.size).rjust(_END.size))
        if magic != _MAGIC or length > size - _END.size:
            raise ValueError(f"{self.path}/{batch}: not a file of states, or a damaged one")
        file.seek(size - _END.size - length)
        index: list[Any] = json.loads(file.read(length))
        return index

    def read(self, target: Any) -> tuple[bytes | None, list[Any], Waiting]:
        """The state, the place and the waiting profiles of a target."""
        if target not in self.index:
            return None, [], Waiting()
        record = self.index[target]
        file = self._reader(record.batch)
        file.seek(record.offset)
        size, place, waiting = json.loads(file.readline())
        return file.read(size), place, Waiting((_profile(*one) for one in waiting), file)

    def write(self, target: Any, state: bytes, place: Sequence[Any], waiting: Waiting) -> None:
        """Writes the record of a target, with the profiles that wait."""
        offset = self.out.tell()
        self.out.write(json.dumps((len(state), place, list(waiting.places))).encode() + b"\n" + state)
        for one in waiting.until():
            self.out.write(one.data or b"")
        self.index[target] = Record(self.now, self.batch, offset, self.out.tell() - offset)

    def silent(self, expire: int | None) -> list[Any]:
        """The targets without news for so many milliseconds, by the clock of the micro-batch before."""
        return [] if expire is None else [key for key, one in self.index.items() if one.news + expire <= self.clock]

    def _take_over(self) -> None:
        used: Counter[int] = Counter()
        for record in self.index.values():
            if record.batch != self.batch:
                used[record.batch] += record.length
        taken, length = set(), self.out.tell()
        for batch, size in sorted(used.items(), key=lambda one: one[1]):
            if size <= 2 * length or 2 * size < self.sizes[batch]:
                taken.add(batch)
                length += size
        for target, record in self.index.items():
            if record.batch in taken:
                file = self._reader(record.batch)
                file.seek(record.offset)
                self.index[target] = record._replace(batch=self.batch, offset=self.out.tell())
                self.out.write(file.read(record.length))

    def commit(self) -> None:
        """Makes the file of this micro-batch."""
        self._take_over()
        text = json.dumps((self.now, [(target, *record) for target, record in self.index.items()])).encode()
        self.out.write(text + _END.pack(len(text), _MAGIC))
        self.out.close()
        self.folder.replace(self.temporary, f"{self.path}/{self.batch}")
        self.temporary = ""

    def close(self) -> None:
        """Without `commit`, nothing has changed."""
        for reader in self.readers.values():
            reader.close()
        if self.temporary:
            self.out.close()
            self._remove(self.temporary)
