"""A delta read and made again with Google's protobuf for Python: subtract.py DESCRIPTORS PREV CUR
DELTA COUNTER...

Prints as JSON how many samples DELTA has, how many are not what cur - prev says (counters
subtracted, the other types as in cur, nothing dropped but what is all zero), the first of them, and
the sums of each type. A place is what DESIGN calls it: an address in its mapping, or else its lines.
"""

import json
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def profile_class(path):
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        files.ParseFromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    name = files.file[-1].package + ".Profile"
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


class Reading:
    def __init__(self, profile):
        self.strings = [text.decode(errors="surrogateescape") for text in profile.string_table]
        self.mappings = {one.id: one for one in profile.mapping}
        self.functions = {one.id: one for one in profile.function}
        self.places = {one.id: self.place(one) for one in profile.location}
        self.types = [self.strings[t.type] for t in profile.sample_type]
        self.samples = {}
        for sample in profile.sample:
            key = (tuple(self.places[i] for i in sample.location_id),
                   tuple(sorted(self.label(one) for one in sample.label)))
            old = self.samples.get(key)
            self.samples[key] = ([a + b for a, b in zip(old, sample.value)] if old
                                 else list(sample.value))

    def place(self, location):
        s = self.strings
        if location.address:
            m = self.mappings.get(location.mapping_id)
            if not m:
                return ("", location.address, location.is_folded)
            return (s[m.build_id] or s[m.filename],
                    location.address - m.memory_start + m.file_offset, location.is_folded)
        return tuple((s[f.name], s[f.system_name], s[f.filename], f.start_line, line.line,
                      line.column)
                     for line in location.line for f in [self.functions[line.function_id]])

    def label(self, one):
        s = self.strings
        return (s[one.key], s[one.str], one.num, s[one.num_unit])


def subtracted(prev, cur, counters):
    counted = [kind in counters for kind in cur.types]
    zero = [0] * len(cur.types)
    out = {}
    for key in [*cur.samples, *(key for key in prev.samples if key not in cur.samples)]:
        values = [c - p if is_counted else c for c, p, is_counted in
                  zip(cur.samples.get(key, zero), prev.samples.get(key, zero), counted)]
        if any(values):
            out[key] = values
    return out


def main():
    profile = profile_class(sys.argv[1])
    readings = []
    for path in sys.argv[2:5]:
        with open(path, "rb") as file:
            readings.append(Reading(profile.FromString(file.read())))
    prev, cur, delta = readings
    want = subtracted(prev, cur, sys.argv[5:])
    differ = [key for key in {**want, **delta.samples} if want.get(key) != delta.samples.get(key)]
    print(json.dumps({
        "samples": len(delta.samples),
        "differ": len(differ),
        "first": [f"{key}: {delta.samples.get(key)} is not {want.get(key)}" for key in differ[:2]],
        "sums": {kind: sum(values[i] for values in delta.samples.values())
                 for i, kind in enumerate(delta.types)},
    }))


main()
