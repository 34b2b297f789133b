"""The message Profile for Google's protobuf, made from a table of its fields: no compiler of .proto
files is needed. proto/profile.proto has the same fields in words; test_docs.py compares them."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELDS = {
    "ValueType": "int64 type, int64 unit",
    "Label": "int64 key, int64 str, int64 num, int64 num_unit",
    "Sample": "uint64* location_id, int64* value, Label* label",
    "Mapping": "uint64 id, uint64 memory_start, uint64 memory_limit, uint64 file_offset, int64 filename,"
    " int64 build_id, bool has_functions, bool has_filenames, bool has_line_numbers, bool has_inline_frames",
    "Line": "uint64 function_id, int64 line, int64 column",
    "Location": "uint64 id, uint64 mapping_id, uint64 address, Line* line, bool is_folded",
    "Function": "uint64 id, int64 name, int64 system_name, int64 filename, int64 start_line",
    "Profile": "ValueType* sample_type, Sample* sample, Mapping* mapping, Location* location,"
    " Function* function, bytes* string_table, int64 drop_frames, int64 keep_frames, int64 time_nanos,"
    " int64 duration_nanos, ValueType period_type, int64 period, int64* comment, int64 default_sample_type,"
    " int64 doc_url",
}


def _profile_class() -> Any:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools", syntax="proto3")
    for message_name, fields in FIELDS.items():
        message = file.message_type.add(name=message_name)
        for number, field in enumerate(fields.split(", "), start=1):
            kind, name = field.split()
            added = message.field.add(name=name, number=number)
            added.label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in FIELDS:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".perftools.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.Profile"))


Profile = _profile_class()
