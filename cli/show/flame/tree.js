"use strict";
/* The tree of all stacks, and its layout for one sample type. This file does not use the screen.
 *
 * The root is node 0, and each node has a higher number than its parent. So a loop with rising numbers
 * meets parents before their children, a loop with falling numbers adds up subtrees, and the subtree
 * of node i is i to i + size[i]. */

function readTree(data) {
  const len = data.name.length; /* the root and all names but the last, which only ends the list */
  const tree = {
    len,
    names: data.names,
    name: new Int32Array(len).fill(-1),
    parent: new Int32Array(len).fill(-1),
    depth: new Int32Array(len),
    size: new Int32Array(len).fill(1),
    isOutermost: new Uint8Array(len), /* it has no caller of the same name: a sum counts it */
  };
  for (let i = 1; i < len; i++) {
    let parent = i - 1;
    for (let up = data.back[i - 1]; up > 0; up--) parent = tree.parent[parent];
    tree.parent[i] = parent;
    tree.depth[i] = tree.depth[parent] + 1;
    tree.name[i] = data.name[i - 1];
  }
  for (let i = len - 1; i > 0; i--) tree.size[tree.parent[i]] += tree.size[i];
  const end = new Int32Array(data.names.length); /* for each name: the end of its last outermost call */
  for (let i = 1; i < len; i++) {
    if (i < end[tree.name[i]]) continue;
    tree.isOutermost[i] = 1;
    end[tree.name[i]] = i + tree.size[i];
  }
  return tree;
}

function spread(tree, pairs) {
  const values = new Float64Array(tree.len);
  for (let i = 0, node = 0; i < pairs.length; i += 2) {
    node += pairs[i];
    values[node] = pairs[i + 1];
  }
  return values;
}

function addUp(tree, values) {
  const sums = values.slice();
  for (let i = tree.len - 1; i > 0; i--) sums[tree.parent[i]] += sums[i];
  return sums;
}

/* The layout for one type: node i spans weight[i] from start[i]. With two profiles, `width` selects
 * the value that a frame is as wide as: the larger of both, the one now, or the one before. */
function layOut(tree, type, width) {
  const self = spread(tree, type.self);
  const isPair = type.before !== undefined;
  const before = isPair ? spread(tree, type.before) : null;
  const own = self.map((value, i) => {
    const now = Math.abs(value);
    if (!isPair || width === "now") return now;
    const then = Math.abs(before[i]);
    return width === "before" ? then : Math.max(now, then);
  });
  const layout = {
    type, isPair, self, selfBefore: before,
    now: addUp(tree, self),
    before: isPair ? addUp(tree, before) : null,
    weight: addUp(tree, own),
    start: new Float64Array(tree.len),
    isSigned: isPair || self.some((value) => value < 0),
  };
  const cursor = new Float64Array(tree.len);
  for (let i = 1; i < tree.len; i++) {
    const parent = tree.parent[i];
    cursor[i] = layout.start[i] = cursor[parent];
    cursor[parent] += layout.weight[i];
  }
  return layout;
}

/* From -1 (there is nothing of it now) to 1 (there was nothing of it before). */
function changeOf(layout, i) {
  if (!layout.isPair) return layout.weight[i] ? layout.now[i] / layout.weight[i] : 0;
  const larger = Math.max(Math.abs(layout.now[i]), Math.abs(layout.before[i]));
  return larger ? (layout.now[i] - layout.before[i]) / larger : 0;
}

/* The functions of the table: sums by name. A recursive call counts once. */
function sumByName(tree, layout) {
  const rows = tree.names.map((name, id) => ({ name, id, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
  for (let i = 1; i < tree.len; i++) {
    const row = rows[tree.name[i]];
    row.self += layout.self[i];
    if (tree.isOutermost[i]) row.total += layout.now[i];
    if (!layout.isPair) continue;
    row.selfBefore += layout.selfBefore[i];
    if (tree.isOutermost[i]) row.totalBefore += layout.before[i];
  }
  return rows.filter((row) => row.self || row.total || row.selfBefore || row.totalBefore);
}

/* The names that a search finds; null if the search is empty or not a valid pattern. */
function matchNames(names, text) {
  const pattern = /^\/(.+)\/$/.exec(text);
  let test;
  if (!text) return null;
  if (pattern) {
    let expression;
    try { expression = new RegExp(pattern[1], "i"); } catch { return null; }
    test = (name) => expression.test(name);
  } else {
    const part = text.toLowerCase();
    test = (name) => name.toLowerCase().includes(part);
  }
  return Uint8Array.from(names, (name) => (test(name) ? 1 : 0));
}

/* The number of functions found, and the weight of the frames that have no match above them. */
function weighMatches(tree, layout, hits) {
  let weight = 0;
  const functions = new Set();
  for (let i = 1; i < tree.len;) {
    if (!hits[tree.name[i]]) { i++; continue; }
    weight += layout.weight[i];
    i += tree.size[i];
  }
  for (let i = 1; i < tree.len; i++)
    if (hits[tree.name[i]] && layout.weight[i] > 0) functions.add(tree.name[i]);
  return { weight, functions: functions.size };
}

/* ---- numbers as the command prints them -------------------------------------------------------- */

const SCALES = {
  bytes: [[2 ** 60, "EiB"], [2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"],
          [2 ** 10, "KiB"], [1, "B"]],
  nanoseconds: [[86400e9, "d"], [3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "us"],
                [1, "ns"]],
};

function formatValue(value, unit) {
  const steps = Object.hasOwn(SCALES, unit) ? SCALES[unit] : null;
  if (!steps) return value.toLocaleString("en-US");
  const size = Math.abs(value), [one, name] = steps.find((step) => size >= step[0]) ?? [1, steps.at(-1)[1]];
  const scaled = size / one;
  const digits = one === 1 ? 0 : scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
  return (value < 0 ? "-" : "") + scaled.toFixed(digits) + name;
}

function formatChange(value, unit) {
  return (value > 0 ? "+" : "") + formatValue(value, unit);
}

function formatShare(part, whole) {
  return whole ? (100 * part / whole).toFixed(1) + "%" : "-";
}
