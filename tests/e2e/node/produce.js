// A Node.js program that looks at itself twice with @datadog/pprof: produce.js FOLDER
//
// Writes heap.1, heap.2 (what lives on the heap now) and time.1, time.2 (where the time went since
// the last look). Node knows no addresses: a place is its function, file and line.
"use strict";

const fs = require("fs");
const path = require("path");
const pprof = require("@datadog/pprof");

const kept = [];

function keepStrings(count) {
  for (let i = 0; i < count; i++) kept.push("a string that is kept ".repeat(20) + i);
}

function keepObjects(count) {
  for (let i = 0; i < count; i++) kept.push({ number: i, text: `object ${i}`, list: [i, i + 1] });
}

function burn(milliseconds) {
  const until = Date.now() + milliseconds;
  let sum = 0;
  while (Date.now() < until) for (let i = 0; i < 1e5; i++) sum += Math.sqrt(i);
  return sum;
}

async function write(name, profile) {
  fs.writeFileSync(path.join(process.argv[2], name), await pprof.encode(profile));
}

async function main() {
  pprof.heap.start(1024, 64);
  keepStrings(2000);
  keepObjects(2000);
  await write("heap.1", pprof.heap.profile());
  keepObjects(6000);
  await write("heap.2", pprof.heap.profile());
  pprof.heap.stop();

  pprof.time.start({ intervalMicros: 1000, durationMillis: 60000, lineNumbers: true });
  burn(150);
  await write("time.1", pprof.time.stop(true));
  burn(300);
  await write("time.2", pprof.time.stop());
}

main();
