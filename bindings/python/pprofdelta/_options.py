"""The options of contexts, deltas and sums: keyword arguments, all of them optional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum
from typing import Literal, TypedDict, TypeVar, cast

from ._answers import OnReset


class First(StrEnum):
    """What the first window of an empty context is."""

    FULL = "full"  #: everything since the process began
    ZERO = "zero"  #: nothing, as if the profile had not changed


class Compression(StrEnum):
    """The compression of the output."""

    GZIP = "gzip"
    ZSTD = "zstd"
    NONE = "none"


class Format(StrEnum):
    """The format of the output."""

    PPROF = "pprof"
    OTLP = "otlp"  #: one ExportProfilesServiceRequest of OpenTelemetry


class SumOptions(TypedDict, total=False):
    """The options of `sum` and `Adder`."""

    counters: Iterable[str]
    """More counters, as "type" or "type/unit"."""
    gauges: Iterable[str]
    """Types that are gauges whatever their name says."""
    compression: Compression | Literal["gzip", "zstd", "none"]
    """The compression of the output: "gzip" (the default), "zstd" or "none"."""
    level: int
    """The level of the compression, 1 to 9; 0: the default, chosen for speed."""
    format: Format | Literal["pprof", "otlp"]
    """The format of the output: "pprof" (the default), or "otlp", which pprofdelta-formats(5) describes."""
    resource: Mapping[str, str]
    """The attributes of the resource of a request, such as service.name. Needs format="otlp"."""
    max_memory: int
    """Bytes that the context may hold, with the inflated input; 0: 8 GiB."""
    stamp: bool
    """False: leave out the comment that marks a profile as a delta."""
    force: bool
    """Accept a profile that is a delta or a window already. In a sum, also one that does not join."""
    default_counter: bool
    """A default type that is a gauge becomes its counter."""


class Options(SumOptions, total=False):
    """The options of `Context`, `delta` and `compare`. pprofdelta-delta(1) explains the rules."""

    on_reset: OnReset | Literal["auto", "restart", "clamp", "negative", "fail"]
    """What to do when a counter went backwards or the target restarted (`OnReset`)."""
    first: First | Literal["full", "zero"]
    """What the first window of an empty context is (`First`)."""
    verify: bool
    """Check the conservation law before any output."""
    sequence: bool
    """False: windows have no sequence and no attempt."""
    started: int | None
    """When the target process began, in nanoseconds since 1970. A start after the last profile is a
    restart for certain."""


#: flags, on_reset, first, compression, level, max_memory, counters, gauges, format, resource
Packed = tuple[
    int, int, int, int, int, int, tuple[bytes, ...], tuple[bytes, ...], int, tuple[bytes, ...]
]

# The flags of the C headers, and the value of the option that sets them.
_FLAGS = {
    "stamp": (1 << 0, False),
    "force": (1 << 1, True),
    "verify": (1 << 2, True),
    "default_counter": (1 << 3, True),
    "sequence": (1 << 4, False),
}
_SUM_NAMES = SumOptions.__optional_keys__
_NAMES = Options.__optional_keys__

E = TypeVar("E", bound=Enum)


def _index(name: str, kind: type[E], value: object) -> int:
    """The number of an option's value, which is its place in the enum."""
    try:
        return list(kind).index(kind(value))
    except ValueError:
        values = ", ".join(repr(member.value) for member in kind)
        raise ValueError(f"{name}={value!r}: the option is one of {values}") from None


def _types(name: str, values: Iterable[str]) -> tuple[bytes, ...]:
    if isinstance(values, str):
        raise TypeError(f"{name}={values!r}: the option is a list of types, as in [{values!r}]")
    return tuple(value.encode() for value in values)


def _resource(options: Options) -> tuple[bytes, ...]:
    """Each key with its value behind it."""
    resource = options.get("resource", {})
    if resource and options.get("format", "pprof") != "otlp":
        raise ValueError("resource: the option needs format='otlp'")
    return tuple(text.encode() for pair in resource.items() for text in pair)


def _packed(options: Options) -> Packed:
    flags = 0
    for name, (flag, value) in _FLAGS.items():
        if bool(options.get(name, not value)) is value:
            flags |= flag
    max_memory = options.get("max_memory", 0)
    if not 0 <= max_memory < 2**64:
        raise ValueError(f"max_memory={max_memory}: the option is a number of bytes")
    return (
        flags,
        _index("on_reset", OnReset, options.get("on_reset", "auto")),
        _index("first", First, options.get("first", "full")),
        _index("compression", Compression, options.get("compression", "gzip")),
        options.get("level", 0),
        max_memory,
        _types("counters", options.get("counters", ())),
        _types("gauges", options.get("gauges", ())),
        _index("format", Format, options.get("format", "pprof")),
        _resource(options),
    )


def _refuse_unknown(options: Options | SumOptions, known: frozenset[str], what: str) -> None:
    for name in options:
        if name not in known:
            raise TypeError(f"{what} has no option {name!r}; the options are {', '.join(sorted(known))}")


def pack(options: Options) -> Packed:
    """The options of a context as the extension module takes them, without `started`."""
    _refuse_unknown(options, _NAMES, "a context")
    return _packed(options)


def pack_for_sum(options: SumOptions) -> Packed:
    """The same for a sum."""
    _refuse_unknown(options, _SUM_NAMES, "a sum")
    return _packed(cast(Options, options))
