// A shop that profiles its own heap and time twice, with @datadog/pprof: shop.js FOLDER
"use strict";

const fs = require("fs");
const path = require("path");
const pprof = require("@datadog/pprof");

class Basket {
  #items = [];
  add(item) { this.#items.push(item); return this; }
  get total() { return this.#items.reduce((sum, item) => sum + item.price, 0); }
  async *lines() { for (const item of this.#items) yield item.name; }
  static of(n) {
    const basket = new Basket();
    for (let i = 0; i < n; i++) basket.add({ price: i, name: `item ${i}` });
    return basket;
  }
}

const kept = [];
const fill = Function("n", "kept", "for (let i = 0; i < n; i++) kept.push(new Array(20).fill(i))");

function burn(milliseconds) {
  const until = Date.now() + milliseconds;
  let sum = 0;
  while (Date.now() < until) for (let i = 0; i < 1e5; i++) sum += Math.sqrt(i);
  return sum;
}

async function write(name, profile) {
  fs.writeFileSync(path.join(process.argv[2], name), await pprof.encode(profile));
}

(async () => {
  pprof.heap.start(16384, 16);
  kept.push(Basket.of(3000));
  fill(500, kept);
  (() => { for (let i = 0; i < 2000; i++) kept.push("x".repeat(50) + i); })();
  await write("node-heap.1.pb.gz", pprof.heap.profile());
  kept.push(Basket.of(9000));
  for await (const line of kept[0].lines()) kept.push(line + "!");
  await write("node-heap.2.pb.gz", pprof.heap.profile());
  pprof.heap.stop();
  pprof.time.start({ intervalMicros: 5000, durationMillis: 60000, lineNumbers: true });
  burn(100);
  eval("burn(50)");
  await write("node-time.1.pb.gz", pprof.time.stop(true));
  [1, 2, 3].sort(() => burn(20));
  JSON.parse(`[${"1,".repeat(2000000)}1]`);
  burn(Basket.of(100000).total ? 40 : 0);
  await write("node-time.2.pb.gz", pprof.time.stop());
})();
