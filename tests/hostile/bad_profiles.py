"""Files that say they are profiles and are not valid ones, rule by rule: what refers to nothing,
what is counted wrong, what is no well-formed protobuf."""

from wire import (BYTES, FIXED32, FIXED64, GROUP, GROUP_END, HEAP, PAST, STRING_TABLE, STRINGS,
                  VARINT, Wire, chunk, fixed32, fixed64, function, here, join, label, line,
                  location, mapping, message, number, packed, profile, s, sample, samples_of, tag,
                  types_of, values, varint)

TAG = "a field's tag is cut off or longer than 64 bits"
LENGTH = "a length is cut off or longer than 64 bits"
NUMBER = "a varint is cut off or longer than 64 bits"
BODY = "a field is longer than the rest of its message: cut off?"
WIRE_TYPE = "a wire type that profiles do not have (a group, or damage)"
FIELD_ZERO = "a field number is zero or larger than protobuf allows"


def broken_references(refuse):
    good = location(1, line(1))
    for name, id in (("unknown", 99), ("zero", 0), ("huge", 1 << 63)):
        bad = sample(packed(1, 1, here(varint(id)), 2), values(4))
        refuse(f"sample-location-id-{name}.pb", profile(samples=samples_of(4) + bad),
               f"sample[2].location_id: no location has the id {id}")
    refuse("sample-location-id-unknown-unpacked.pb",
           profile(samples=sample(number(1, 1), here(number(1, 99)), values(4))),
           "sample[0].location_id: no location has the id 99")
    refuse("mapping-id-unknown.pb",
           profile(locations=good + here(location(2, mapping_id=99))),
           "location[1].mapping_id: no mapping has the id 99")
    refuse("function-id-unknown.pb",
           profile(locations=good + here(location(2, line(1), line(99)))),
           "location[1].line.function_id: no function has the id 99")


def broken_ids(refuse):
    tables = {"mapping": ("mappings", mapping), "location": ("locations", location),
              "function": ("functions", function)}
    for field, (table, element) in tables.items():
        refuse(f"{field}-id-repeated.pb",
               profile(**{table: element(1) + element(2) + here(element(1))}),
               f"{field}[2].id: the id 1 belongs to an earlier element")
        refuse(f"{field}-id-repeated-far-apart.pb",
               profile(**{table: element(1 << 60) + element(1) + here(element(1 << 60))}),
               f"{field}[2].id: the id {1 << 60} belongs to an earlier element")
        refuse(f"{field}-id-zero.pb", profile(**{table: element(1) + here(element(0))}),
               f"{field}[1].id: the id 0 is not allowed: it means none")
    refuse("location-id-missing.pb", profile(locations=here(message(4, number(3, 0x400010)))),
           "location[0].id: the id 0 is not allowed: it means none")


def plain(content):
    return content


def string_fields():
    """Every field that is a string index: its name, and how to make a profile where it is `index`,
    with `outer` around the message that it stands in and `inner` around itself."""
    def in_type(field):
        return lambda index, outer, inner: profile(
            types=outer(message(1, inner(number(field, index)))), samples=Wire())

    def in_period(field):
        return lambda index, outer, inner: profile(
            period=outer(message(11, inner(number(field, index)))))

    def in_mapping(field):
        return lambda index, outer, inner: profile(
            mappings=outer(message(3, number(1, 1), inner(number(field, index)))))

    def in_function(field):
        return lambda index, outer, inner: profile(
            functions=function(1) + outer(message(5, number(1, 2), inner(number(field, index)))))

    def at_top(field):
        return lambda index, outer, inner: profile(tail=here(number(field, index)))

    return {
        "sample_type[0].type": in_type(1), "sample_type[0].unit": in_type(2),
        "period_type.type": in_period(1), "period_type.unit": in_period(2),
        "mapping[0].filename": in_mapping(5), "mapping[0].build_id": in_mapping(6),
        "function[1].name": in_function(2), "function[1].system_name": in_function(3),
        "function[1].filename": in_function(4), "comment[0]": at_top(13), "drop_frames": at_top(7),
        "keep_frames": at_top(8), "default_sample_type": at_top(14), "doc_url": at_top(15),
    }


def broken_strings(refuse):
    outside = "string index {} is outside the string table"
    beyond = (("negative", -1), ("over-32-bits", (1 << 32) + 1))
    for field, make_with in string_fields().items():
        name = "".join(c for c in field if c not in "[]0123456789").replace(".", "-")
        refuse(f"string-index-past-the-end-{name}.pb", make_with(PAST, here, plain),
               f"{field}: {outside.format(PAST)}, which has {PAST} entries")
        for kind, index in beyond:  # refused at sight, before the table is known
            refuse(f"string-index-{kind}-{name}.pb", make_with(index, plain, here),
                   f"{field}: {outside.format(index)}")
    for number_of, name in ((1, "key"), (2, "str"), (4, "num_unit")):
        for kind, index in (("past-the-end", PAST), *beyond):
            bad = sample(values(4), label(number(3, 1), here(number(number_of, index))))
            refuse(f"string-index-{kind}-label-{name}.pb", profile(samples=samples_of(4) + bad),
                   f"sample[2].label.{name}: {outside.format(index)}")
    refuse("string-index-past-the-end-drop_frames-of-several.pb",
           profile(tail=here(number(7, PAST)) + number(8, 1) + packed(13, 1) + number(15, 1)),
           f"drop_frames: {outside.format(PAST)}, which has {PAST} entries")
    for kind, index in (("past-the-end", PAST), ("negative", -1)):
        known = f", which has {PAST} entries" if index == PAST else ""
        refuse(f"string-index-{kind}-comment-of-several.pb",
               profile(tail=packed(13, 1, 2, here(varint(index)), 3) + number(13, 1)),
               f"comment[2]: {outside.format(index)}{known}")
    refuse("string-table-first-not-empty.pb",
           profile(strings=chunk(6, here(b"first")) + STRING_TABLE),
           "string_table[0]: the first string is not empty")
    refuse("string-table-missing.pb", profile(strings=Wire()),
           "string_table: it has no string table: not a pprof profile, or cut off")


def broken_counts(refuse):
    refuse("values-too-few.pb",
           profile(samples=samples_of(4) + sample(here(packed(1, 1)), values(3))),
           "sample[2].value: 3 values where the profile has 4 sample types")
    refuse("values-too-many.pb",
           profile(samples=sample(packed(1, 1), packed(2, 1, 2, 3, 4, here(varint(5)), 6))),
           "sample[0].value: at least 5 values where the profile has 4 sample types")
    refuse("values-missing.pb", profile(samples=samples_of(4) + sample(here(packed(1, 1)))),
           "sample[2].value: 0 values where the profile has 4 sample types")
    refuse("sample-empty.pb", profile(samples=sample(here())),
           "sample[0].value: 0 values where the profile has 4 sample types")
    refuse("values-unpacked-too-few.pb",
           profile(samples=sample(here(number(2, 1)), number(1, 1), number(2, 2))),
           "sample[0].value: 2 values where the profile has 4 sample types")
    refuse("values-packed-and-unpacked-too-many.pb",
           profile(samples=sample(number(2, 1), packed(2, 2, 3), packed(1, 1), number(2, 4),
                                  here(number(2, 5)))),
           "sample[0].value: at least 5 values where the profile has 4 sample types")
    refuse("types-missing.pb", profile(types=Wire()),
           "sample_type: it has no sample types: not a pprof profile, or cut off")
    many = types_of(["alloc_space/bytes"] * 64) + here(types_of(["alloc_space/bytes"]))
    refuse("types-65.pb", profile(types=many, samples=Wire()),
           "sample_type[64]: 65 sample types; at most 64 are supported")


def broken_wire_types(refuse):
    """At each level, a field that stands there in another wire type than the format gives it."""
    number_wanted = "wrong wire type: {} stands where the format has another"
    words = {VARINT: "a varint", FIXED64: "a 64-bit number", FIXED32: "a 32-bit number",
             BYTES: "a length-delimited field"}

    def case(name, field, kind, content):
        refuse(f"wire-type-{name}.pb", content, f"{field}: {number_wanted.format(words[kind])}")

    for field, name, element in ((1, "sample_type", 4), (2, "sample", 2), (3, "mapping", 1),
                                 (4, "location", 2), (5, "function", 2), (6, "string_table", PAST)):
        case(name, f"{name}[{element}]", VARINT, profile(tail=here(number(field, 1))))
    case("period_type", "period_type", FIXED64, profile(tail=here(fixed64(11))))
    case("comment", "comment[0]", FIXED32, profile(tail=here(fixed32(13))))
    for field, name in ((7, "drop_frames"), (8, "keep_frames"), (9, "time_nanos"),
                        (10, "duration_nanos"), (12, "period"), (14, "default_sample_type"),
                        (15, "doc_url")):
        case(name, name, BYTES, profile(tail=here(chunk(field, b"\1"))))

    for field, name in ((1, "type"), (2, "unit")):
        case(f"sample_type-{name}", f"sample_type[0].{name}", BYTES,
             profile(types=message(1, here(chunk(field)))))
        case(f"period_type-{name}", f"period_type.{name}", BYTES,
             profile(period=message(11, here(chunk(field)))))
    for field, name in ((1, "location_id"), (2, "value")):
        case(f"sample-{name}", f"sample[0].{name}", FIXED64,
             profile(samples=sample(here(fixed64(field)))))
    case("sample-label", "sample[0].label", VARINT,
         profile(samples=sample(values(4), here(number(3, 1)))))
    for field, name in ((1, "key"), (2, "str"), (3, "num"), (4, "num_unit")):
        case(f"label-{name}", f"sample[0].label.{name}", BYTES,
             profile(samples=sample(values(4), label(here(chunk(field, b"thread"))))))
    for field, name in ((1, "id"), (2, "memory_start"), (3, "memory_limit"), (4, "file_offset"),
                        (5, "filename"), (6, "build_id"), (7, "has_functions"),
                        (8, "has_filenames"), (9, "has_line_numbers"), (10, "has_inline_frames")):
        case(f"mapping-{name}", f"mapping[0].{name}", BYTES,
             profile(mappings=message(3, here(chunk(field, b"x")))))
    for field, name, kind in ((1, "id", FIXED64), (2, "mapping_id", FIXED64),
                              (3, "address", FIXED64), (5, "is_folded", BYTES)):
        case(f"location-{name}", f"location[0].{name}", kind,
             profile(locations=message(4, here((fixed64 if kind == FIXED64 else chunk)(field)))))
    case("location-line", "location[0].line", VARINT,
         profile(locations=message(4, here(number(4, 1)))))
    for field, name in ((1, "function_id"), (2, "line"), (3, "column")):
        case(f"line-{name}", f"location[0].line.{name}", FIXED32,
             profile(locations=message(4, number(1, 1), message(4, here(fixed32(field))))))
    for field, name in ((1, "id"), (2, "name"), (3, "system_name"), (4, "filename"),
                        (5, "start_line")):
        case(f"function-{name}", f"function[0].{name}", BYTES,
             profile(functions=message(5, here(chunk(field, b"main")))))


LONG = b"\x80" * 10 + b"\1"        # eleven bytes
OVERFLOW = b"\xff" * 9 + b"\x02"  # ten bytes, and a bit more than 64


def broken_varints(refuse):
    for name, bad in (("of-11-bytes", LONG), ("over-64-bits", OVERFLOW)):
        refuse(f"varint-{name}-tag.pb", profile(tail=here(bad)), TAG)
        refuse(f"varint-{name}-length.pb", profile(tail=here(tag(2, BYTES) + bad)),
               f"sample[2]: {LENGTH}")
        refuse(f"varint-{name}-top-level.pb", profile(tail=here(tag(12, VARINT) + bad)),
               f"period: {NUMBER}")
        refuse(f"varint-{name}-sample.pb",
               profile(samples=sample(here(tag(2, VARINT) + bad))), f"sample[0]: {NUMBER}")
        refuse(f"varint-{name}-location-ids.pb",
               profile(samples=sample(packed(1, 1, here(bad)), values(4))),
               f"sample[0].location_id: {NUMBER}")
        refuse(f"varint-{name}-values.pb",
               profile(samples=samples_of(4) + sample(packed(2, 1, here(bad), 3, 4))),
               f"sample[2].value: {NUMBER}")
        refuse(f"varint-{name}-comments.pb", profile(tail=packed(13, 1, here(bad))),
               f"comment[1]: {NUMBER}")
        refuse(f"varint-{name}-label.pb",
               profile(samples=sample(values(4), label(here(tag(3, VARINT) + bad)))),
               f"sample[0].label: {NUMBER}")
        refuse(f"varint-{name}-line.pb",
               profile(locations=message(4, number(1, 1), message(4, here(tag(2, VARINT) + bad)))),
               f"location[0].line: {NUMBER}")


def cut_off(refuse):
    """The file ends, or a message does, in the middle of something."""
    refuse("cut-in-tag.pb", profile(tail=here(b"\xf2")), TAG)
    refuse("cut-in-length.pb", profile(tail=here(tag(2, BYTES) + b"\x80")), f"sample[2]: {LENGTH}")
    refuse("cut-behind-tag.pb", profile(tail=here(tag(12, VARINT))), f"period: {NUMBER}")
    refuse("cut-in-number.pb", profile(tail=here(tag(12, VARINT) + b"\x80")), f"period: {NUMBER}")
    refuse("cut-in-fixed64.pb", profile(tail=here(fixed64(99)[:8])),
           "a fixed-size field is cut off")
    refuse("cut-in-fixed32.pb", profile(tail=here(fixed32(99)[:4])),
           "a fixed-size field is cut off")
    refuse("cut-in-sample.pb", types_of(HEAP) + samples_of(4) + here(sample(values(4))[:4]),
           f"sample[2]: {BODY}")
    refuse("cut-in-strings.pb", profile(tail=here(chunk(6, b"main.handle")[:6])),
           f"string_table[{PAST}]: {BODY}")
    refuse("cut-behind-samples.pb", types_of(HEAP) + samples_of(4),
           "string_table: it has no string table: not a pprof profile, or cut off")
    refuse("cut-behind-some-strings.pb",
           profile(strings=join(chunk(6, text.encode()) for text in STRINGS[:4])).data,
           f"sample_type[1].unit: string index {s('bytes')} is outside the string table, which has "
           f"4 entries (at byte {len(types_of(HEAP[:1]))} of the inflated profile)")

    refuse("beyond-parent-packed.pb", profile(samples=sample(here(tag(1, BYTES) + b"\5\1"))),
           f"sample[0]: {BODY}")
    refuse("beyond-parent-label.pb",
           profile(samples=sample(values(4), here(tag(3, BYTES) + b"\x08\x08\x0c"))),
           f"sample[0]: {BODY}")
    refuse("beyond-parent-line.pb",
           profile(locations=message(4, number(1, 1), here(tag(4, BYTES) + b"\x7f\x08\x01"))),
           f"location[0]: {BODY}")
    refuse("beyond-parent-huge.pb",
           profile(tail=here(tag(2, BYTES) + varint((1 << 63) - 1) + b"\1")), f"sample[2]: {BODY}")
    refuse("beyond-parent-type.pb", profile(types=message(1, here(tag(1, BYTES) + b"\4\1"))),
           f"sample_type[0]: {BODY}")
    refuse("beyond-parent-mapping.pb", profile(mappings=message(3, here(tag(5, BYTES) + b"\4"))),
           f"mapping[0]: {BODY}")
    refuse("beyond-parent-function.pb", profile(functions=message(5, here(tag(2, BYTES) + b"\4"))),
           f"function[0]: {BODY}")

    refuse("inside-cut-location-ids.pb",
           profile(samples=sample(packed(1, 1, here(b"\x80")), values(4))),
           f"sample[0].location_id: {NUMBER}")
    refuse("inside-cut-values.pb", profile(samples=sample(packed(2, 1, 2, 3, here(b"\x80")))),
           f"sample[0].value: {NUMBER}")
    refuse("inside-cut-label.pb", profile(samples=sample(values(4), label(here(tag(1, VARINT))))),
           f"sample[0].label: {NUMBER}")
    refuse("inside-cut-line.pb",
           profile(locations=message(4, number(1, 1), message(4, here(tag(1, VARINT))))),
           f"location[0].line: {NUMBER}")


def not_protobuf(refuse):
    for kind in (GROUP, GROUP_END, 6, 7):
        refuse(f"wire-type-{kind}.pb", profile(tail=here(tag(16, kind))), WIRE_TYPE)
    refuse("wire-type-3-in-sample.pb", profile(samples=sample(values(4), here(tag(4, GROUP)))),
           f"sample[0]: {WIRE_TYPE}")
    refuse("wire-type-7-in-line.pb", profile(locations=message(4, message(4, here(b"\x0f")))),
           f"location[0].line: {WIRE_TYPE}")
    refuse("field-number-zero.pb", profile(tail=here(b"\2\0")), FIELD_ZERO)
    refuse("field-number-too-large.pb", profile(tail=here(varint(1 << 32) + b"\0")), FIELD_ZERO)
    refuse("field-number-zero-in-mapping.pb", profile(mappings=message(3, here(b"\0\0"))),
           f"mapping[0]: {FIELD_ZERO}")
    refuse("zeros-behind.pb", profile(tail=here(b"\0\0")), FIELD_ZERO)
    refuse("newline-behind.pb", profile(tail=here(b"\n")), f"sample_type[4]: {LENGTH}")
    refuse("empty.pb", b"", "it is empty: 0 bytes")
    refuse("zeros.pb", here(b"\0" * 64), FIELD_ZERO)


def make(corpus):
    for cases in (broken_references, broken_ids, broken_strings, broken_counts, broken_wire_types,
                  broken_varints, cut_off, not_protobuf):
        cases(corpus.refuse)
