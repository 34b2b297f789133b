"use strict";
/* The trees of the page. This file does not use the screen.
 *
 * Node 0 is the root, and each node has a higher number than its parent. So a loop with rising numbers
 * meets parents before their children, a loop with falling numbers adds up subtrees, and the subtree
 * of node i is i to i + size[i]. row[i] is where a node is drawn. In the view of callers and callees the
 * callers (below[i] is 0) have lower rows than the root; everywhere else a child is a row below its parent. */

function emptyTree(len, names) {
  return {
    len, names,
    name: new Int32Array(len).fill(-1),
    parent: new Int32Array(len).fill(-1),
    row: new Int32Array(len),
    size: new Int32Array(len).fill(1),
    below: new Uint8Array(len).fill(1),
    file: new Int32Array(len).fill(-1), /* an index into data.files, or -1 */
    line: new Int32Array(len),
  };
}

function addSizes(tree) {
  for (let i = tree.len - 1; i > 0; i--) tree.size[tree.parent[i]] += tree.size[i];
}

/* The tree of the data: root first. isOutermost: a node has no caller of the same name, so a sum by
 * name counts it. */
function readTree(data) {
  const len = data.name.length; /* the root and all names but the last, which only ends the list */
  const tree = emptyTree(len, data.names);
  for (let i = 1; i < len; i++) {
    let parent = i - 1;
    for (let up = data.back[i - 1]; up > 0; up--) parent = tree.parent[parent];
    tree.parent[i] = parent;
    tree.row[i] = tree.row[parent] + 1;
    tree.name[i] = data.name[i - 1];
    tree.file[i] = data.file[i - 1];
    tree.line[i] = data.line[i - 1];
  }
  addSizes(tree);
  tree.isOutermost = new Uint8Array(len);
  const end = new Int32Array(data.names.length); /* for each name: the end of its last outermost call */
  for (let i = 1; i < len; i++) {
    if (i < end[tree.name[i]]) continue;
    tree.isOutermost[i] = 1;
    end[tree.name[i]] = i + tree.size[i];
  }
  return tree;
}

/* The values of the nodes themselves. isKept: for each set of labels, or null for all. */
function spread(tree, pairs, sets, isKept) {
  const values = new Float64Array(tree.len);
  for (let i = 0, node = 0; i < pairs.length; i += 2) {
    node += pairs[i];
    if (!isKept || isKept[sets ? sets[i / 2] : 0]) values[node] += pairs[i + 1];
  }
  return values;
}

function addUp(tree, values) {
  const sums = values.slice();
  for (let i = tree.len - 1; i > 0; i--)
    if (tree.below[i] || tree.parent[i]) sums[tree.parent[i]] += sums[i];
  return sums;
}

/* ---- the other views ----------------------------------------------------------------------------- */

/* Paths of nodes of another tree, each with its values. */
function makePaths() {
  return { nodes: [], ends: [], now: [], before: [] };
}

function endPath(paths, now, before) {
  paths.ends.push(paths.nodes.length);
  paths.now.push(now);
  paths.before.push(before);
}

/* The tree of all paths: those that begin with the same names share nodes. */
function mergePaths(base, paths) {
  const begin = (path) => (path ? paths.ends[path - 1] : 0);
  const nameAt = (at) => base.name[paths.nodes[at]];
  const order = Uint32Array.from(paths.ends, (_, i) => i).sort((a, b) => {
    let x = begin(a), y = begin(b);
    const xEnd = paths.ends[a], yEnd = paths.ends[b];
    for (; x < xEnd && y < yEnd; x++, y++)
      if (paths.nodes[x] !== paths.nodes[y] && nameAt(x) !== nameAt(y)) return nameAt(x) - nameAt(y);
    return xEnd - x - (yEnd - y);
  });
  const whole = emptyTree(paths.nodes.length + 1, base.names);
  const self = new Float64Array(whole.len), before = new Float64Array(whole.len), open = [0];
  let len = 1;
  for (const path of order) {
    let depth = 0;
    const from = begin(path), count = paths.ends[path] - from;
    while (depth < count && depth + 1 < open.length && whole.name[open[depth + 1]] === nameAt(from + depth)) depth++;
    open.length = depth + 1;
    for (let d = 0; d < depth; d++) addPlace(whole, open[d + 1], base, paths.nodes[from + d]);
    for (; depth < count; depth++) {
      const node = paths.nodes[from + depth];
      whole.name[len] = base.name[node];
      whole.parent[len] = open[depth];
      whole.row[len] = depth + 1;
      whole.file[len] = base.file[node];
      whole.line[len] = base.line[node];
      open.push(len++);
    }
    self[open.at(-1)] += paths.now[path];
    before[open.at(-1)] += paths.before[path];
  }
  const tree = { names: base.names, len };
  for (const part of ["name", "parent", "row", "size", "below", "file", "line"]) tree[part] = whole[part].subarray(0, len);
  addSizes(tree);
  return { tree, self: self.subarray(0, len), before: before.subarray(0, len) };
}

/* A file or a line that differs is left out, as in the data. */
function addPlace(tree, i, base, node) {
  if (tree.file[i] !== base.file[node]) { tree.file[i] = -1; tree.line[i] = 0; }
  else if (tree.line[i] !== base.line[node]) tree.line[i] = 0;
}

/* Leaf first. */
function invert(base, self, before) {
  const paths = makePaths();
  for (let i = 1; i < base.len; i++) {
    if (!self[i] && !(before && before[i])) continue;
    for (let at = i; at > 0; at = base.parent[at]) paths.nodes.push(at);
    endPath(paths, self[i], before ? before[i] : 0);
  }
  return mergePaths(base, paths);
}

/* One function in the middle: what calls it above, what it calls below. Of a function that calls
 * itself, the outermost call counts. */
function joinAround(base, self, before, name) {
  const callers = makePaths(), callees = makePaths();
  const now = addUp(base, self), then = before ? addUp(base, before) : null;
  for (let i = 1; i < base.len; i++) {
    if (base.name[i] !== name || !base.isOutermost[i]) continue;
    for (let at = base.parent[i]; at > 0; at = base.parent[at]) callers.nodes.push(at);
    endPath(callers, now[i], then ? then[i] : 0);
    for (let k = i; k < i + base.size[i]; k++) {
      if (!self[k] && !(before && before[k])) continue;
      const from = callees.nodes.length;
      for (let at = k; at > i; at = base.parent[at]) callees.nodes.push(at);
      for (let x = from, y = callees.nodes.length - 1; x < y; x++, y--)
        [callees.nodes[x], callees.nodes[y]] = [callees.nodes[y], callees.nodes[x]];
      endPath(callees, self[k], before ? before[k] : 0);
    }
  }
  return joinTrees(mergePaths(base, callers), mergePaths(base, callees), name);
}

function joinTrees(up, down, name) {
  const tree = emptyTree(up.tree.len + down.tree.len - 1, down.tree.names);
  const self = new Float64Array(tree.len), before = new Float64Array(tree.len);
  const rows = up.tree.row.reduce((most, row) => Math.max(most, row), 0);
  tree.name[0] = name;
  tree.row[0] = rows;
  const copy = (from, offset, below) => {
    for (let i = 1; i < from.tree.len; i++) {
      const to = i + offset;
      tree.name[to] = from.tree.name[i];
      tree.parent[to] = from.tree.parent[i] ? from.tree.parent[i] + offset : 0;
      tree.row[to] = below ? rows + from.tree.row[i] : rows - from.tree.row[i];
      tree.below[to] = below;
      tree.file[to] = from.tree.file[i];
      tree.line[to] = from.tree.line[i];
      self[to] = from.self[i];
      before[to] = from.before[i];
    }
  };
  copy(up, 0, 0);
  copy(down, up.tree.len - 1, 1);
  self[0] = down.self[0];
  before[0] = down.before[0];
  addSizes(tree);
  return { tree, self, before };
}

/* ---- the layout ---------------------------------------------------------------------------------- */

/* What a frame is as wide as: with two profiles, the larger of both values, the one now, the one
 * before, or what changed. */
function weightOf(now, before, width) {
  if (width === "now") return Math.abs(now);
  if (width === "before") return Math.abs(before);
  if (width === "change") return Math.abs(now - before);
  return Math.max(Math.abs(now), Math.abs(before));
}

/* Node i spans weight[i] from start[i]; the heaviest child comes first. before is null for one profile. */
function layOut(tree, type, self, before, width) {
  const isPair = before !== null;
  const own = self.map((value, i) => weightOf(value, isPair ? before[i] : 0, isPair ? width : "now"));
  const layout = {
    tree, type, isPair, self, selfBefore: before,
    now: addUp(tree, self),
    before: isPair ? addUp(tree, before) : null,
    weight: addUp(tree, own),
    start: new Float64Array(tree.len),
    isSigned: isPair || self.some((value) => value < 0),
    isThere: new Uint8Array(tree.names.length), /* for each name: a frame has it */
  };
  const { start, weight } = layout;
  const children = [];
  for (let i = 0; i < tree.len; i++) {
    const end = i + tree.size[i];
    if (!(weight[i] > 0)) continue;
    if (tree.name[i] >= 0) layout.isThere[tree.name[i]] = 1;
    if (end === i + 1) continue;
    children.length = 0;
    for (let c = i + 1; c < end; c += tree.size[c]) children.push(c);
    if (children.length > 1) children.sort((a, b) => weight[b] - weight[a] || a - b);
    const cursor = [start[i], start[i]]; /* of the callers and of the callees */
    for (const c of children) {
      start[c] = cursor[tree.below[c]];
      cursor[tree.below[c]] += weight[c];
    }
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
function sumByName(tree, self, before) {
  const rows = tree.names.map((name, id) => ({ name, id, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
  const now = addUp(tree, self), then = before ? addUp(tree, before) : null;
  for (let i = 1; i < tree.len; i++) {
    const row = rows[tree.name[i]];
    row.self += self[i];
    if (tree.isOutermost[i]) row.total += now[i];
    if (!before) continue;
    row.selfBefore += before[i];
    if (tree.isOutermost[i]) row.totalBefore += then[i];
  }
  return rows.filter((row) => row.self || row.total || row.selfBefore || row.totalBefore);
}

/* ---- searching ----------------------------------------------------------------------------------- */

/* The texts that a search finds: hits has a 1 for each; it is null if the search is empty. error says
 * what is wrong with a pattern. */
function matchTexts(texts, text) {
  const pattern = /^\/(.+)\/$/.exec(text);
  let test;
  if (!text) return { hits: null, error: "" };
  if (pattern) {
    let expression;
    try {
      expression = new RegExp(pattern[1], "i");
    } catch (error) {
      return { hits: null, error: `not a pattern: ${error.message.replace(/^.*\/i?: /, "")}` };
    }
    test = (one) => expression.test(one);
  } else {
    const part = text.toLowerCase();
    test = (one) => one.toLowerCase().includes(part);
  }
  return { hits: Uint8Array.from(texts, (one) => (test(one) ? 1 : 0)), error: "" };
}

/* The number of functions found, and the weight of the frames that have no match above them. */
function weighMatches(layout, hits) {
  const { tree } = layout;
  let weight = 0, count = 0;
  for (let i = tree.name[0] < 0 ? 1 : 0; i < tree.len;) {
    if (!(layout.weight[i] > 0)) { i += tree.size[i]; continue; }
    if (!hits[tree.name[i]] || !tree.below[i]) { i++; continue; }
    weight += layout.weight[i];
    i += tree.size[i];
  }
  for (let name = 0; name < hits.length; name++) count += hits[name] & layout.isThere[name];
  return { weight, functions: count };
}

/* ---- names and numbers ----------------------------------------------------------------------------- */

/* A name as short as can be read: without arguments and template arguments, without the path of its
 * package, and then without its package or class. */
function shorten(name, room) {
  if (name.length <= room) return name;
  let text = name.replace(/\((?:[^()]|\([^()]*\))*\)(?: const)?$/, "");
  for (let before = ""; before !== text && text.length > room;) {
    before = text;
    text = text.replace(/<[^<>]*>/g, "");
  }
  if (text.length > room) text = text.slice(text.lastIndexOf("/") + 1);
  while (text.length > room) {
    const cut = /::|\.+(?=[^.])/.exec(text);
    const rest = cut ? text.slice(cut.index + cut[0].length) : "";
    if (!rest || /^func\d+(?:\.|$)/.test(rest)) break;
    text = rest;
  }
  if (!text) text = name;
  return text.length <= room ? text : `${text.slice(0, room - 1)}\u2026`;
}

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

/* Times to the second, durations and labels in nanoseconds to three digits. */
function formatTimes(text) {
  return text.replace(/(\d\d:\d\d:\d\d)\.\d+Z/g, "$1Z")
    .replace(/(^|[^\d.])(\d+\.\d+) s\b/g, (_, before, seconds) => before + formatValue(seconds * 1e9, "nanoseconds"))
    .replace(/(\d+)nanoseconds$/, (_, number) => formatValue(Number(number), "nanoseconds"));
}
