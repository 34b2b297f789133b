"""What opentelemetry-proto reads in an OTLP request: read_otlp.py FILE

Prints a JSON object: types, attributes of the last profile, samples ([stack, labels, values], zeros where a type has no such sample), and
what is wrong with the tables: entries that are there twice, and attributes that cannot be.
"""

import collections
import json
import sys

from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2


def load(path):
    request = profiles_service_pb2.ExportProfilesServiceRequest()
    with open(path, "rb") as file:
        request.ParseFromString(file.read())
    return request


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: value_of(one.value) for one in value.kvlist_value.values}
    return getattr(value, kind) if kind else None


class Reading:
    def __init__(self, request):
        self.d = request.dictionary
        self.strings = self.d.string_table

    def label(self, index):
        attribute = self.d.attribute_table[index]
        return [self.strings[attribute.key_strindex], value_of(attribute.value),
                self.strings[attribute.unit_strindex]]

    def stack(self, index):
        names = []
        for at in self.d.stack_table[index].location_indices:
            location = self.d.location_table[at]
            names += [self.strings[self.d.function_table[line.function_index].name_strindex]
                      for line in location.lines] or [hex(location.address)]
        return names

    def repeated(self):
        """Entries that a table has twice, and first entries that are not the zero value."""
        wrong = []
        for field, table in self.d.ListFields():
            entries = [one if isinstance(one, str) else one.SerializeToString(deterministic=True) for one in table]
            wrong += [f"{field.name}: {len(entries) - len(set(entries))} twice"] * (len(set(entries)) != len(entries))
            wrong += [f"{field.name}: the first is not zero"] * bool(entries[0])
        return wrong

    def attributes(self):
        """Mappings and locations with an attribute that is none, or with two of one key."""
        wrong = []
        for entry in [*self.d.mapping_table, *self.d.location_table]:
            keys = [self.label(at)[0] for at in entry.attribute_indices]
            wrong += [f"attributes {keys}"] * (0 in entry.attribute_indices or len(set(keys)) != len(keys))
        return wrong


def main():
    request = load(sys.argv[1])
    reading = Reading(request)
    [resource] = request.resource_profiles
    [scope] = resource.scope_profiles
    types, samples = [], collections.OrderedDict()
    for column, profile in enumerate(scope.profiles):
        types.append(reading.strings[profile.sample_type.type_strindex])
        for sample in profile.samples:
            key = (sample.stack_index, tuple(sample.attribute_indices))
            values = samples.setdefault(key, [0] * len(scope.profiles))
            values[column] += sum(sample.values)
    print(json.dumps({
        "resource": {one.key: value_of(one.value) for one in resource.resource.attributes},
        "scope": scope.scope.name, "attributes": dict(reading.label(at)[:2] for at in scope.profiles[-1].attribute_indices),
        "types": types, "wrong": reading.repeated() + reading.attributes(),
        "ids": [profile.profile_id.hex() for profile in scope.profiles],
        "samples": [[reading.stack(stack), [*map(reading.label, attributes)], values]
                    for (stack, attributes), values in samples.items()]}))


main()
