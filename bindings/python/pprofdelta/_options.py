"""The options of contexts, deltas and sums: keyword arguments, all of them optional.

The functions and classes that take options have them in their signatures, in the order of the two classes here.
`pack` makes of them what the extension module takes.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from ._answers import RECEIVERS, Compression, First, Format, OnReset, ReceiverLike
from ._errors import UsageError

CompressionLike: TypeAlias = Compression | Literal["gzip", "zstd", "none"]
FormatLike: TypeAlias = Format | Literal["pprof", "otlp", "otlp-parca", "otlp-plain", "tables"]
OnResetLike: TypeAlias = OnReset | Literal["auto", "restart", "clamp", "negative", "fail"]
FirstLike: TypeAlias = First | Literal["full", "zero"]


class SumOptions(TypedDict, total=False):
    """The options of `sum`."""

    counters: Iterable[str]
    """More counters, as "type" or "type/unit"."""
    gauges: Iterable[str]
    """Types that are gauges whatever their name says."""
    compression: CompressionLike
    """The compression of the output: "gzip" (the default), "zstd" or "none"."""
    level: int
    """The level of the compression, 1 to 9; 0: the default, chosen for speed."""
    format: FormatLike
    """The format of the output: "pprof" (the default), "otlp", "otlp-parca" or "otlp-plain", which
    pprofdelta-formats(5) describes, or, for windows only, "tables" (`Window.table`). A request of OTLP without
    samples is b"": there is nothing to send, and the window is committed."""
    resource: Mapping[str, str] | None
    """With a format of OTLP: the attributes of the resource of the request, such as service.name. With
    format="tables": {"target": "host1"} names the target."""
    max_memory: int
    """Bytes that the context may hold, with the inflated input; 0: 8 GiB."""
    stamp: bool
    """False: leave out the comment that marks a profile as a delta."""
    force: bool
    """Accept a profile that is a delta or a window already. In a sum, also one that does not join, unless it may
    count twice. In a merge, each profile that names no target is a target of its own."""
    default_counter: bool
    """A default type that is a gauge becomes its counter."""


class MergeOptions(SumOptions, total=False):
    """The options of `merge`."""

    target_label: str | None
    """The key of a label that every sample gets, with the id of its target as 16 hexadecimal digits."""
    disjoint: bool
    """Take merges of other targets, too. Those that have a target in common are a `MismatchError`, as far as their
    stamps tell: pprofdelta-merge(1), "Merges of merges"."""


class AdderOptions(MergeOptions, total=False):
    """The options of `Adder`."""

    merge: bool
    """Add up windows of many targets: see `Adder`."""


class Options(SumOptions, total=False):
    """The options of `Context`, `delta` and `compare`. pprofdelta-delta(1) explains the rules."""

    on_reset: OnResetLike
    """What to do when a counter went backwards or the target restarted (`OnReset`)."""
    first: FirstLike
    """What the first window of an empty context is (`First`)."""
    verify: bool
    """Check the conservation law before any output."""
    sequence: bool
    """False: windows have no sequence and no attempt."""
    started: int | None
    """When the target process began, in nanoseconds since 1970. A start after the last profile is a
    restart for certain."""


#: flags, on_reset, first, compression, level, max_memory, counters, gauges, format, resource, target_label, id,
#: last_sequence
Packed = tuple[
    int, int, int, int, int, int, tuple[bytes, ...], tuple[bytes, ...], int, tuple[bytes, ...], str | None, int, int
]

# The flags of the C headers, and the value of the option that sets them.
_FLAGS = {
    "stamp": (1 << 0, False),
    "force": (1 << 1, True),
    "verify": (1 << 2, True),
    "default_counter": (1 << 3, True),
    "sequence": (1 << 4, False),
    "merge": (1 << 6, True),
    "disjoint": (1 << 7, True),
}


def options_for(receiver: ReceiverLike, **others: Unpack[SumOptions]) -> SumOptions:
    """The options for what a receiver takes, in one word, as --for of the command: the format and the compression, unless
    they are among the others. ``Context(**options_for("pyroscope", resource={"service.name": "shop"}))``"""
    if receiver not in RECEIVERS:
        wrong = UsageError if isinstance(receiver, str) else TypeError
        raise _wrong(wrong, "receiver", receiver, f"one of {', '.join(map(repr, RECEIVERS))}")
    options: SumOptions = {"format": RECEIVERS[receiver][0], "compression": RECEIVERS[receiver][1]}
    options.update(others)
    return options


def named(values: Mapping[str, Any], kind: Any = SumOptions) -> dict[str, Any]:
    """The options among the local variables of a function that takes options."""
    return {name: value for name, value in values.items() if name in kind.__optional_keys__}


def _wrong(kind: type[Exception], name: str, value: object, what: str) -> Exception:
    return kind(f"{name}={reprlib.repr(value)}: the option is {what}")


def _integer(name: str, value: Any, most: int, what: str) -> int:
    what = f"{what} from 0 to {most}"
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong(TypeError, name, value, what) from None
    if not 0 <= number <= most:
        raise _wrong(UsageError, name, number, what)
    return number


def started_nanos(value: int | None) -> int:
    """The option `started` as the library takes it."""
    return 0 if value is None else _integer("started", value, 2**63 - 1, "a number of nanoseconds since 1970")


def _choice(name: str, value: object, kind: type[StrEnum]) -> int:
    """The number of an option's value, which is its place in the enum."""
    values = list(map(str, kind))
    if value not in values:
        wrong = UsageError if isinstance(value, str) else TypeError
        raise _wrong(wrong, name, value, f"one of {', '.join(map(repr, values))}")
    return values.index(str(value))


def _texts(name: str, value: object, texts: Iterable[Any], what: str) -> tuple[bytes, ...]:
    encoded = []
    for text in texts:
        if not isinstance(text, str):
            raise _wrong(TypeError, name, value, what)
        encoded.append(text.encode(errors="surrogatepass"))
        if b"\0" in encoded[-1] or len(text.encode(errors="ignore")) != len(encoded[-1]):
            raise _wrong(UsageError, name, value, f"{what}, without a NUL and without surrogates")
    return tuple(encoded)


def text_or_none(name: str, value: str | None) -> str | None:
    _texts(name, value, [] if value is None else [value], "a str or None")
    return value


def _types(name: str, value: Any) -> tuple[bytes, ...]:
    what = "a list of types, as in ['alloc_space', 'delay/nanoseconds']"
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _wrong(TypeError, name, value, what)
    value = list(value)
    return _texts(name, value, value, what)


def _resource(value: Any, format: object) -> tuple[bytes, ...]:
    """Each key with its value behind it."""
    what = "a mapping of str to str, as in {'service.name': 'shop'}"
    if not isinstance(value, Mapping):
        raise _wrong(TypeError, "resource", value, what)
    texts = _texts("resource", value, (text for pair in value.items() for text in pair), what)
    if value and format == "pprof":
        raise UsageError("resource: the option needs a format of OTLP, such as format='otlp', or format='tables'")
    if "" in value:
        raise _wrong(UsageError, "resource", value, f"{what}; a key is empty")
    return texts


def pack(values: Mapping[str, Any]) -> Packed:
    """The options among these local variables as the extension module takes them, without `started`. An
    option that a sum does not have is not among them."""
    flags = 0
    for name, (flag, wanted) in _FLAGS.items():
        value = values.get(name, not wanted)
        if not isinstance(value, bool):
            raise _wrong(TypeError, name, value, "True or False")
        flags |= flag if value is wanted else 0
    if values["format"] == "tables" and "on_reset" not in values:
        raise UsageError("format='tables': a sum is bytes; give them to the function `table`")
    label = text_or_none("target_label", values.get("target_label"))
    if label is not None and not (label and values["merge"]):
        raise _wrong(UsageError, "target_label", label, "for merge=True, and not empty")
    return (
        flags,
        _choice("on_reset", values.get("on_reset", "auto"), OnReset),
        _choice("first", values.get("first", "full"), First),
        _choice("compression", values["compression"], Compression),
        _integer("level", values["level"], 9, "an integer"),
        _integer("max_memory", values["max_memory"], 2**64 - 1, "a number of bytes"),
        _types("counters", values["counters"]),
        _types("gauges", values["gauges"]),
        _choice("format", values["format"], Format),
        _resource(values["resource"] or {}, values["format"]),
        label,
        *values.get("series", (0, 0)),
    )
