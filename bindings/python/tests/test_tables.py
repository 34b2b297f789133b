"""Tables: read by ctypes as the Arrow C data interface says, against the oracle; and by the packages that are here."""

from __future__ import annotations

import copy
import ctypes
import gc
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import pprofdelta
from conftest import resident
from oracle import Reading, parse
from test_command import run

Pair = tuple[bytes, bytes]
NAMES = "samples", "stacks", "locations", "functions"


class Struct(ctypes.Structure):
    """An ArrowSchema or an ArrowArray: the members that both have, by their names."""

    def release_now(self) -> None:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release)(ctypes.addressof(self))


class Schema(Struct):
    pass


class Array(Struct):
    pass


Schema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


def struct_in(capsule: object, name: bytes, kind: Any) -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(pointer(capsule, name))


def numbers(address: int, kind: Any, end: int) -> list[int]:
    return list((kind * end).from_address(address)) if end else []


def values_of(schema: Schema, array: Array) -> list[Any]:
    """The values of a column. A struct is a dict."""
    kind, end = schema.format.decode(), array.offset + array.length
    buffers = numbers(ctypes.addressof(array.buffers.contents), ctypes.c_void_p, array.n_buffers)
    found: list[Any]
    if schema.dictionary:
        assert kind == "i"
        known = values_of(schema.dictionary[0], array.dictionary[0])
        assert len(set(known)) == len(known)
        found = [known[index] if known else None for index in numbers(buffers[1], ctypes.c_int32, end)]
    elif kind in ("l", "L", "tsn:UTC"):
        found = numbers(buffers[1], ctypes.c_uint64 if kind == "L" else ctypes.c_int64, end)
    elif kind == "b":
        bits = numbers(buffers[1], ctypes.c_uint8, (end + 7) // 8)
        found = [bool(bits[n // 8] >> n % 8 & 1) for n in range(end)]
    elif kind == "u":
        cuts = numbers(buffers[1], ctypes.c_int32, end + 1)
        found = [ctypes.string_at(buffers[2] + a, b - a).decode() for a, b in zip(cuts, cuts[1:], strict=False)]
    elif kind == "+l":
        items = values_of(schema.children[0][0], array.children[0][0])
        cuts = numbers(buffers[1], ctypes.c_int32, end + 1)
        found = [items[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    else:
        assert kind == "+s"
        names = [schema.children[n][0].name.decode() for n in range(schema.n_children)]
        columns = [values_of(schema.children[n][0], array.children[n][0]) for n in range(schema.n_children)]
        found = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if buffers[0]:
        assert schema.flags & 2
        valid = numbers(buffers[0], ctypes.c_uint8, (end + 7) // 8)
        found = [value if valid[n // 8] >> n % 8 & 1 else None for n, value in enumerate(found)]
        assert found.count(None) == array.null_count and not array.offset
    return found[array.offset :]


def rows_of(table: Any) -> list[Any]:
    schema, array = table.__arrow_c_array__()
    return values_of(struct_in(schema, b"arrow_schema", Schema), struct_in(array, b"arrow_array", Array))


def agree(tables: pprofdelta.Tables, data: bytes) -> None:
    """The tables have what the profile has, sample by sample."""
    reading = Reading(data)
    profile, s = reading.profile, reading.strings
    samples, stacks, locations, functions = (rows_of(getattr(tables, name)) for name in NAMES)
    stack_of = {row["stack_id"]: row["location_ids"] for row in stacks}
    location_of = {row.pop("location_id"): row for row in locations}
    function_of = {row.pop("function_id"): row for row in functions}
    assert [len(stack_of), len(location_of), len(function_of)] == list(map(len, (stacks, locations, functions)))
    messages = {one.id: one for one in profile.location}
    assert len(samples) == len(profile.sample)
    for row, sample in zip(samples, profile.sample, strict=True):
        assert [row[name] for name, _ in reading.types] == list(sample.value)
        labels = [(s[one.key], s[one.str] or None, None if one.str else one.num, s[one.num_unit] or None)
                  for one in sample.label]  # fmt: skip
        assert [(one["key"], one["str"], one["num"], one["unit"]) for one in row["labels"]] == labels
        ids = stack_of[row["stack_id"]]
        for number, message in zip(ids, (messages[n] for n in sample.location_id), strict=True):
            location = location_of[number]
            mapping = reading.mappings[message.mapping_id]
            where = s[mapping.build_id], s[mapping.filename], message.address - mapping.memory_start + mapping.file_offset
            assert (location["build_id"], location["file"], location["address"]) == where
            for n, (line, wanted) in enumerate(zip(location["lines"], message.line, strict=True)):
                assert (line["line"], line["inlined"]) == (wanted.line, n < len(message.line) - 1)
                function = reading.functions[wanted.function_id]
                assert function_of[line["function_id"]] == {
                    "name": s[function.name], "system_name": s[function.system_name],
                    "file": s[function.filename], "start_line": function.start_line,
                }  # fmt: skip


def test_the_tables_are_what_the_oracle_reads(pair: Pair) -> None:
    context = pprofdelta.Context()
    for n, profile in enumerate(pair, start=1):
        with context.window(profile) as window:
            agree(window.table(), window.delta)
        row = rows_of(window.table().samples)[0]
        report = window.report
        assert (row["sequence"], row["attempt"], row["restart"]) == (n, 1, False)
        assert (row["target"], row["from"] or 0) == (f"{report.id:016x}", report.from_nanos)
        assert row["time"] == report.to_nanos
        agree(pprofdelta.table(profile, target="host"), profile)
        assert {row["target"] for row in rows_of(pprofdelta.table(profile, target="host\u00e9").samples)} == {"host\u00e9"}


def test_windows_may_be_tables_from_the_start(heap: Pair) -> None:
    options: Any = {"on_reset": "clamp", "sequence": False}
    bytes_of = pprofdelta.Context(**options)
    for resource in ({}, {"target": "host1"}):
        tables_of = pprofdelta.Context(format="tables", resource=resource, **options)
        tables_of.base(heap[0])
        with tables_of.window(heap[1]) as window:
            pass
        bytes_of.base(heap[0])
        delta = bytes_of.window(heap[1]).delta
        bytes_of.abandon()
        agree(window.table(), delta)
        target = resource.get("target")
        for name in NAMES:
            assert rows_of(getattr(window.table(), name)) == rows_of(getattr(pprofdelta.table(delta, target=target), name))
        assert window.delta == b"" and window.report.samples_out == len(rows_of(window.table().samples))
        with pytest.raises(pprofdelta.UsageError, match="resource="):
            window.table(target="host2")
        with pytest.raises(pprofdelta.InvalidProfileError):
            copy.copy(window).table()
    with pytest.raises(pprofdelta.UsageError, match="target=.* NUL"):
        pprofdelta.table(heap[0], target="a\0b")
    with pytest.raises(TypeError, match="target=1"):
        pprofdelta.table(heap[0], target=1)  # type: ignore[arg-type]
    with pytest.raises(pprofdelta.UsageError, match="format='tables'"):
        pprofdelta.delta(*heap, format="tables")
    with pytest.raises(pprofdelta.UsageError, match="format='tables'"):
        pprofdelta.sum(*heap, format="tables")


def test_rows_become_a_profile_again(pair: Pair, tmp_path: Path) -> None:
    """Its tables are the same, and what the command shows of it."""
    for delta in (pprofdelta.delta(*pair), pair[1]):
        message, tables = parse(delta), pprofdelta.table(delta, target="host")
        rows = {name: rows_of(getattr(tables, name)) for name in NAMES}
        times = {"time_nanos": message.time_nanos, "duration_nanos": message.duration_nanos}
        again = pprofdelta.to_pprof(*rows.values(), **times)
        found = pprofdelta.table(again, target="host")
        assert {name: rows_of(getattr(found, name)) for name in NAMES} == rows
        shown = []
        for name, data in (("delta", delta), ("again", again)):
            (tmp_path / name).write_bytes(data)
            shown.append(json.loads(run("show", "--json", tmp_path / name).stdout))
            for frame in [frame for sample in shown[-1]["samples"] for frame in sample["stack"]]:
                del frame["address"]  # that in the file
        for member in ("types", "samples", "time", "duration_nanos"):
            assert shown[0][member] == shown[1][member], member


def test_tables_are_rows_without_a_package(pair: Pair) -> None:
    delta = pprofdelta.delta(*pair)
    tables = pprofdelta.table(delta, target="host\u00e9")
    assert [tables.samples, tables.stacks, tables.locations, tables.functions] == list(tables)
    for table in tables:
        want = rows_of(table)
        assert list(table) == want and len(table) == len(want) and table[0] == want[0] and table[-1] == want[-1]
        for wrong in (len(table), -len(table) - 1):
            with pytest.raises(IndexError):
                table[wrong]
        columns = ", ".join(want[0])
        assert repr(table) == f"<Table: {len(want)} rows, {len(want[0])} columns: {columns}>"
        assert repr(table) in repr(tables)
    times = {"time_nanos": parse(delta).time_nanos, "duration_nanos": parse(delta).duration_nanos}
    again = pprofdelta.to_pprof(*tables, **times)
    assert list(map(list, pprofdelta.table(again, target="host\u00e9"))) == list(map(list, tables))


def test_a_profile_of_some_columns() -> None:
    stacks, places = [{"stack_id": 1, "location_ids": [2, 2]}], {"build_id": "", "file": "", "address": 2**64 - 1}
    locations = [{"location_id": 2, "lines": [{"function_id": 0, "line": 3}], **places}]
    rows = [{"stack_id": 1, "cycles": -5, "alloc_space": None}, {"stack_id": 1, "cycles": None, "alloc_space": 7}]
    types = {"cycles": "count", "alloc_space": "bytes"}
    message = parse(pprofdelta.to_pprof(rows, stacks, locations, [], types=types))
    assert [list(sample.value) for sample in message.sample] == [[-5, 0], [0, 7]]
    assert repr(pprofdelta.table(pprofdelta.to_pprof(rows, stacks, locations, [], types=types)).stacks).startswith("<Table: 1 row, ")
    assert message.location[0].address == 2**64 - 1 and not message.location[0].line
    assert not parse(pprofdelta.to_pprof([], [], [], [])).sample_type
    with pytest.raises(KeyError):
        pprofdelta.to_pprof(rows, [], [], [], types=types)


def test_a_wrong_table_is_refused(heap: Pair) -> None:
    with pytest.raises(pprofdelta.InvalidProfileError):
        pprofdelta.table(heap[0][:-9])
    with pytest.raises(pprofdelta.LimitError):
        pprofdelta.table(heap[0], max_memory=20_000)
    for wrong in (7, "a\0b"):
        with pytest.raises((TypeError, ValueError)):
            pprofdelta.table(heap[0], target=wrong)  # type: ignore[arg-type]
    tables = pprofdelta.table(heap[0])
    for thing in (tables.samples, tables):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    with pytest.raises(TypeError):
        type(tables.samples)()
    with pytest.raises(TypeError):
        tables.samples.__arrow_c_stream__(None, 1)  # type: ignore[call-arg]


def test_columns_outlive_their_table(heap: Pair) -> None:
    """A column that was moved out of its table is valid until it is released, and only then is memory freed."""
    schema, array = pprofdelta.table(heap[1]).samples.__arrow_c_array__()
    whole = struct_in(schema, b"arrow_schema", Schema), struct_in(array, b"arrow_array", Array)
    want = [row["alloc_space"] for row in values_of(*whole)]
    place = [whole[0].children[n][0].name for n in range(whole[0].n_children)].index(b"alloc_space")
    moved = []
    for part in whole:
        child = part.children[place][0]
        moved.append(type(part).from_buffer_copy(child))
        child.release = None
    del whole, child, part
    del schema, array
    gc.collect()
    assert values_of(*moved) == want
    for part in moved:
        part.release_now()
        assert not part.release


def test_no_memory_is_left_behind(heap: Pair) -> None:
    def work(times: int) -> None:
        for _ in range(times):
            tables = pprofdelta.table(heap[1])
            for name in NAMES:
                table = getattr(tables, name)
                table.__arrow_c_array__(), table.__arrow_c_stream__(), table.__arrow_c_schema__()

    work(20)
    before = resident()
    work(500)
    # The columns of the four tables have more than 100 KB.
    assert resident() - before < 20 << 20


@pytest.mark.parametrize("package", ["pyarrow", "polars", "duckdb", "pandas"])
def test_packages_take_the_tables(package: str, heap: Pair) -> None:
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    if package == "pandas" and not hasattr(module.DataFrame, "from_arrow"):
        pytest.skip("DataFrame.from_arrow is new in pandas 3")
    delta = pprofdelta.delta(*heap)
    want = [values[1] for values in (tuple(sample.value) for sample in parse(delta).sample)]
    tables = pprofdelta.table(delta)
    samples = tables.samples
    for source in (tables, samples, samples):  # a table may be taken more than once
        if package == "pyarrow":
            table = module.table(source)
            table.validate(full=True)
            got = table["alloc_space"].to_pylist()
        elif package == "polars":
            got = module.DataFrame(source)["alloc_space"].to_list()
        elif package == "duckdb":
            got = [row for (row,) in module.sql("SELECT alloc_space FROM source").fetchall()]
        else:
            got = list(module.DataFrame.from_arrow(source)["alloc_space"])
        assert got == want
    for name in NAMES:
        if package == "pyarrow":
            module.table(getattr(tables, name)).validate(full=True)
