// Reads profiles with npm's pprof-format and tells what they say, as JSON: roundtrip.js IN [OUT]
//
// With OUT, writes what was read there, by the same package: whoever reads that meets what another
// writer made of ours.
"use strict";

const fs = require("fs");
const zlib = require("zlib");
const { Profile } = require("pprof-format");

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = (index) => profile.stringTable.strings[Number(index)];
const byId = (list) => new Map(list.map((one) => [Number(one.id), one]));
const functions = byId(profile.function);
const locations = byId(profile.location);

function frame(id) {
  return locations.get(Number(id)).line.map((line) => {
    const f = functions.get(Number(line.functionId));
    return [text(f.name), text(f.filename), Number(line.line)].join(" ");
  });
}

function label(one) {
  return [text(one.key), one.str ? text(one.str) : `${one.num} ${text(one.numUnit)}`].join("=");
}

const samples = {};
for (const sample of profile.sample) {
  const key = [...sample.locationId.flatMap(frame), ...sample.label.map(label).sort()].join(";");
  const values = sample.value.map((value) => Number(BigInt.asIntN(64, BigInt(value)))); // 64 bits, signed
  samples[key] = samples[key] ? samples[key].map((v, i) => v + values[i]) : values;
}
console.log(JSON.stringify({
  types: profile.sampleType.map((type) => `${text(type.type)}/${text(type.unit)}`),
  samples,
  nanos: [profile.timeNanos, profile.durationNanos].map(String),
  comments: profile.comment.map(text),
  tables: [profile.location.length, profile.function.length, profile.stringTable.strings.length],
}));
if (process.argv[3]) fs.writeFileSync(process.argv[3], zlib.gzipSync(profile.encode()));
