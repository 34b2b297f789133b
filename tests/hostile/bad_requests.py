"""OTLP requests that are not valid: what refers to nothing, what is counted wrong, what is there twice,
what is no well-formed protobuf. A delta refuses all of them, and the good one, as requests."""

from wire import Wire, chunk, fixed64, here, join, message, number, packed, tag, varint, wire

STRINGS = ["", "alloc_space", "bytes", "main", "/bin/app", "thread", "main.c"]
RESOURCES, DICTIONARY = 1, 2
MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, TEXTS, ATTRIBUTES, STACKS = range(1, 8)
TABLES = {MAPPINGS: "mapping_table", LOCATIONS: "location_table", FUNCTIONS: "function_table", LINKS: "link_table",
          TEXTS: "string_table", ATTRIBUTES: "attribute_table", STACKS: "stack_table"}
DEEP = 33


def fixed(field, value):
    return Wire(tag(field, 1) + value.to_bytes(8, "little"))


def text_value(text):
    return chunk(1, text)


def attribute(key, value, *more):
    return join((number(1, key), chunk(2, value), *more))


def key_value(key, value, field=1):
    return message(field, chunk(1, key), chunk(2, value))


def good_tables():
    """The entries of each table without the first."""
    return {
        MAPPINGS: [join((number(1, 0x400000), number(2, 0x500000), number(4, 4)))],
        LOCATIONS: [join((number(1, 1), number(2, 0x400010), message(3, number(1, 1), number(2, 7))))],
        FUNCTIONS: [join((number(1, 3), number(3, 6)))],
        LINKS: [],
        TEXTS: [wire(text.encode()) for text in STRINGS[1:]],
        ATTRIBUTES: [attribute(5, text_value(b"worker"))],
        STACKS: [packed(1, 1)],
    }


def dictionary(first=None, **_):
    return dictionary_of(good_tables(), first or {})


def dictionary_of(tables, first):
    """first: entries 0 that are not empty."""
    parts = []
    for table, entries in tables.items():
        parts += [chunk(table, first.get(table, b"")), *(chunk(table, entry) for entry in entries)]
    return message(DICTIONARY, *parts)


def with_entry(table, entry):
    """A dictionary with one more entry."""
    tables = good_tables()
    tables[table].append(wire(entry))
    return dictionary_of(tables, {})


def sample(*parts):
    return message(2, *parts)


GOOD_SAMPLE = sample(number(1, 1), packed(2, 1), packed(4, 100))
TYPE = message(1, number(1, 1), number(2, 2))
TIMES = fixed(3, 1_700_000_000_000_000_000) + number(4, 30_000_000_000)
SERVICE = key_value(b"service.name", text_value(b"shop"))


def profile(*samples, kind=TYPE, times=TIMES, tail=b""):
    return message(2, kind, *(samples or (GOOD_SAMPLE,)), times, tail)


def resources(profiles=None, resource=SERVICE, scope=b"", tail=b""):
    return message(RESOURCES, message(1, resource),
                   message(2, message(1, chunk(1, b"maker"), scope), profile() if profiles is None else profiles), tail)


def request(first=None, second=None):
    return resources() + dictionary() if first is None and second is None else \
        (resources() if first is None else first) + (dictionary() if second is None else second)


def outside(index, table):
    entries = len(good_tables()[table]) + 1
    return f"index {index} is outside the {TABLES[table]}, which has {entries} entr{'y' if entries == 1 else 'ies'}"


def broken_indices(refuse):
    for name, index in (("past-the-end", 9), ("negative", -1), ("over-32-bits", 1 << 32)):
        refuse(f"stack-index-{name}", request(resources(profile(sample(here(number(1, index)), packed(4, 1))))),
               f"samples[0].stack_index: {outside(index, STACKS)}")
    refuse("sample-attribute-past-the-end",
           request(resources(profile(GOOD_SAMPLE, sample(packed(2, 1, here(varint(2))), packed(4, 1))))),
           f"samples[1].attribute_indices: {outside(2, ATTRIBUTES)}")
    refuse("sample-attribute-zero", request(resources(profile(sample(packed(2, here(varint(0))), packed(4, 1))))),
           "samples[0].attribute_indices: attribute 0 is not allowed: it means none")
    refuse("sample-link-past-the-end", request(resources(profile(sample(here(number(3, 1)), packed(4, 1))))),
           f"samples[0].link_index: {outside(1, LINKS)}")
    refuse("type-past-the-end", request(resources(profile(kind=message(1, here(number(1, 7)))))),
           f"profiles[0].sample_type: {outside(7, TEXTS)}")
    for table, entry, says in (
            (MAPPINGS, here(number(4, 7)), f"mapping_table[2].filename_strindex: {outside(7, TEXTS)}"),
            (MAPPINGS, packed(5, here(varint(4))), f"mapping_table[2].attribute_indices: {outside(4, ATTRIBUTES)}"),
            (LOCATIONS, here(number(1, 2)), f"location_table[2].mapping_index: {outside(2, MAPPINGS)}"),
            (LOCATIONS, message(3, here(number(1, 2))),
             f"location_table[2].lines.function_index: {outside(2, FUNCTIONS)}"),
            (FUNCTIONS, here(number(2, 7)), f"function_table[2].system_name_strindex: {outside(7, TEXTS)}"),
            (ATTRIBUTES, here(number(1, 7)), f"attribute_table[2].key_strindex: {outside(7, TEXTS)}"),
            (ATTRIBUTES, chunk(2, here(number(8, 7))), f"attribute_table[2].value: {outside(7, TEXTS)}"),
            (STACKS, packed(1, 1, here(varint(2))), f"stack_table[2].location_indices: {outside(2, LOCATIONS)}")):
        name = says.split(":")[0].replace("[2]", "").replace("_", "-").replace(".", "-")
        refuse(f"{name}-past-the-end", request(second=with_entry(table, entry)), says)


def first_entries(refuse):
    contents = {MAPPINGS: number(1, 4096), LOCATIONS: number(2, 1), FUNCTIONS: number(4, 1),
                LINKS: chunk(2, b"\1" * 8), TEXTS: b"x", ATTRIBUTES: number(1, 5), STACKS: packed(1, 1)}
    for table, content in contents.items():
        refuse(f"first-of-{TABLES[table].replace('_', '-')}-not-zero",
               request(second=dictionary({table: here(content)})),
               f"{TABLES[table]}[0]: the first entry is not the zero value")


def counts(refuse):
    refuse("values-missing", request(resources(profile(message(2, here(number(1, 1)))))),
           "samples[0].values: a sample without a value or a timestamp")
    refuse("values-for-other-timestamps",
           request(resources(profile(message(2, here(packed(4, 1, 2)), fixed(5, 1), fixed(5, 2), fixed(5, 3))))),
           "samples[0].values: 2 values where the sample has 3 timestamps")
    refuse("timestamps-packed-badly", request(resources(profile(sample(here(chunk(5, b"1234567")))))),
           "samples[0].timestamps_unix_nano: a packed list that ends in the middle of a number")
    refuse("profile-id-short", request(resources(profile(tail=here(chunk(7, b"12345"))))),
           "profiles[0].profile_id: an id of 5 bytes; it has 16")
    refuse("trace-id-short", request(second=with_entry(LINKS, here(chunk(1, b"12345")))),
           "link_table[1].trace_id: an id of 5 bytes; it has 16")
    refuse("time-after-2262", request(message(1, message(2, here(profile(times=fixed(3, 1 << 63)))))),
           "profiles[0].time_unix_nano: a time after the year 2262, which a profile cannot have")
    refuse("no-profiles", resources(profiles=b"") + dictionary(), "this OTLP request has no profiles")
    kinds = [message(1, number(1, 6 + n)) for n in range(65)]
    tables = good_tables()
    tables[TEXTS] += [wire(b"type%d" % n) for n in range(65)]
    many = [profile(kind=kind) for kind in kinds[:64]] + [message(2, here(kinds[64] + GOOD_SAMPLE))]
    refuse("types-65", resources(join(many)) + dictionary_of(tables, {}),
           "profiles[64]: more than 64 value types in one request")


def twice(refuse):
    refuse("resource-key-twice", request(resources(resource=SERVICE + here(SERVICE))),
           'resource.attributes: the key is there twice')
    refuse("scope-key-twice", request(resources(scope=key_value(b"a", text_value(b"1"), 3) +
                                                here(key_value(b"a", text_value(b"2"), 3)))),
           'scope.attributes: the key is there twice')
    refuse("sample-key-twice", request(resources(profile(sample(packed(2, 1, here(varint(2))), packed(4, 1)))),
                                       with_entry(ATTRIBUTES, attribute(5, text_value(b"other")))),
           "samples[0].attribute_indices: attribute 2 has a key that is there already")
    refuse("value-twice", request(second=with_entry(ATTRIBUTES, chunk(2, text_value(b"a") + here(number(3, 1))))),
           "attribute_table[2].value: an attribute with two values")
    refuse("dictionary-twice", request(second=dictionary() + here(dictionary())), "dictionary: a second dictionary")
    refuse("resource-twice", request(message(1, message(1, SERVICE), here(message(1, SERVICE)),
                                             message(2, profile()))),
           "resource: a second resource in one resource_profiles")
    refuse("scope-twice", request(resources(tail=message(2, message(1, chunk(1, b"maker")), here(message(1)), profile()))),
           "scope: a second scope in one scope_profiles")
    refuse("sample-type-twice", request(resources(profile(tail=here(message(1, number(1, 1)))))),
           "profiles[0].sample_type: a second type in one profile")
    period = message(5, number(1, 1), number(2, 2))
    refuse("period-type-twice", request(resources(profile(tail=period + here(period)))),
           "profiles[0].period_type: a second type in one profile")


def texts(refuse):
    refuse("string-not-utf-8", request(second=with_entry(TEXTS, here(b"\xff"))),
           "string_table[7]: a string that is not UTF-8")
    refuse("value-not-utf-8", request(second=with_entry(ATTRIBUTES, chunk(2, here(text_value(b"a\xc0\x80"))))),
           "attribute_table[2].value: a string that is not UTF-8")
    refuse("schema-url-not-utf-8", request(resources(tail=here(chunk(3, b"\xed\xa0\x80")))),
           "resource_profiles.schema_url: a string that is not UTF-8")


def not_well_formed(refuse):
    wrong = "wrong wire type: {} stands where the format has another"
    number_, length, eight = "a varint", "a length-delimited field", "a 64-bit number"
    refuse("wire-type-stack-index", request(resources(profile(sample(here(chunk(1, b"a")), packed(4, 1))))),
           f"samples[0].stack_index: {wrong.format(length)}")
    refuse("wire-type-time", request(resources(profile(times=here(number(3, 1))))),
           f"profiles[0].time_unix_nano: {wrong.format(number_)}")
    refuse("wire-type-string", request(second=message(2, chunk(5), here(number(5, 1)))),
           f"string_table[1]: {wrong.format(number_)}")
    refuse("wire-type-value", request(second=with_entry(ATTRIBUTES, chunk(2, here(number(4, 1))))),
           f"attribute_table[2].value: {wrong.format(number_)}")
    refuse("wire-type-location", request(second=with_entry(LOCATIONS, here(fixed64(2)))),
           f"location_table[2].address: {wrong.format(eight)}")
    body = "a field is longer than the rest of its message: cut off?"
    whole = request()
    refuse("cut-off", resources() + here(Wire(dictionary().data[:-1])), body)
    refuse("beyond-parent-sample", request(resources(profile(sample(number(1, 1), here(tag(4, 2) + varint(9) + b"\1"))))),
           f"samples[0]: {body}")
    refuse("wire-type-3", whole + here(tag(3, 3)), "a wire type that profiles do not have (a group, or damage)")
    deep = text_value(b"end")
    for level in range(DEEP):
        deep = message(5, chunk(1, deep))
        deep = deep if level else here(deep)
    refuse("values-too-deep", request(second=with_entry(ATTRIBUTES, chunk(2, deep))),
           "attribute_table[2].value: values in values, more than 32 deep")


def make(corpus):
    def refuse(name, content, says):
        corpus.refuse_request(f"otlp-{name}.pb", content, says)

    corpus.accept_request("otlp-good.pb", request())
    for cases in (broken_indices, first_entries, counts, twice, texts, not_well_formed):
        cases(refuse)
