"""The message Profile for Google's protobuf, made from proto/profile.proto: no compiler of .proto files is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO = Path(__file__).resolve().parents[3] / "proto" / "profile.proto"


def _profile_class() -> Any:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools", syntax="proto3")
    for message_name, body in re.findall(r"^message (\w+) {\n(.*?)^}", PROTO.read_text(), re.S | re.M):
        message = file.message_type.add(name=message_name)
        for repeated, kind, name, number in re.findall(r"^\s+(repeated )?(\w+) (\w+) = (\d+);", body, re.M):
            added = message.field.add(name=name, number=int(number))
            added.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind[0].isupper():
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".perftools.{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.Profile"))


Profile = _profile_class()
