/* The trees of the page. This file does not use the screen. What visits a whole tree is a job for
 * slices.js: a generator that yields after each slice.
 *
 * Node 0 is the root, and each node has a higher number than its parent. So a loop with rising numbers
 * meets parents before their children, a loop with falling numbers adds up subtrees, and the subtree
 * of node i is i to i + size[i]. row[i] is where a node is drawn. In the view of callers and callees the
 * callers (below[i] is 0) have lower rows than the root; everywhere else a child is a row below its parent. */

/* A tree of which only the root is set. */
function emptyTree(len, names) {
  const tree = {
    len, names,
    name: new Int32Array(len),
    parent: new Int32Array(len),
    row: new Int32Array(len),
    size: new Int32Array(len),
    below: new Uint8Array(len).fill(1),
    file: new Int32Array(len), /* an index into data.files, or -1 */
    line: new Int32Array(len),
  };
  tree.name[0] = tree.parent[0] = tree.file[0] = -1;
  return tree;
}

function* addSizes(tree) {
  const { size, parent } = tree;
  for (let i = tree.len - 1; i >= 0; i--) {
    size[i]++;
    if (i) size[parent[i]] += size[i];
    if (i % SLICE === 0) yield SLICE;
  }
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
  finish(addSizes(tree));
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

function* addUp(tree, values) {
  const sums = values.slice(), { parent, below } = tree;
  for (let i = tree.len - 1; i > 0; i--) {
    if (below[i] || parent[i]) sums[parent[i]] += sums[i];
    if (i % SLICE === 0) yield SLICE;
  }
  return sums;
}

/* ---- the other views ----------------------------------------------------------------------------- */

/* Paths of nodes of another tree, each with its values. */
function makePaths() {
  return { nodes: [], ends: [], now: [], before: [] };
}

function beginOf(paths, path) {
  return path ? paths.ends[path - 1] : 0;
}

function endPath(paths, now, before) {
  paths.ends.push(paths.nodes.length);
  paths.now.push(now);
  paths.before.push(before);
}

/* Sorts paths by the name of their nodes at a depth. order[from] to order[to - 1] are the paths. */
function sortByName(base, paths, order, from, to, depth) {
  const count = paths.ends.length, keys = new Float64Array(to - from);
  for (let k = from; k < to; k++)
    keys[k - from] = base.name[paths.nodes[beginOf(paths, order[k]) + depth]] * count + order[k];
  keys.sort();
  for (let k = from; k < to; k++) order[k] = keys[k - from] % count;
}

/* The tree of all paths: those that begin with the same names share nodes. A node is a range of the
 * paths. Those that end at it come first in its range, then those of its first child, and so on. */
function* mergePaths(base, paths) {
  const { nodes, ends } = paths, order = new Uint32Array(ends.length).map((_, i) => i);
  const whole = emptyTree(nodes.length + 1, base.names);
  const self = new Float64Array(whole.len), before = new Float64Array(whole.len);
  if (whole.len > SLICE) yield 0;
  const open = [], ranges = [0, ends.length, 0]; /* the node of each row; from, to and row of what follows */
  const nameAt = (path, depth) => base.name[nodes[beginOf(paths, path) + depth]];
  let len = 0, spent = 0;
  while (ranges.length) {
    const depth = ranges.pop(), to = ranges.pop(), from = ranges.pop(), i = len++;
    let rest = from;
    open[depth] = i;
    if (depth) addNode(whole, i, open[depth - 1], base, nodes[beginOf(paths, order[from]) + depth - 1]);
    for (let k = from; k < to; k++) {
      const path = order[k], at = beginOf(paths, path) + depth;
      if (++spent >= SLICE) { yield spent; spent = 0; }
      if (depth) addPlace(whole, i, base, nodes[at - 1]);
      if (at < ends[path]) continue;
      self[i] += paths.now[path];
      before[i] += paths.before[path];
      order[k] = order[rest];
      order[rest++] = path;
    }
    if (to - rest > SLICE) { yield spent; spent = 0; }
    if (to - rest > 1) {
      sortByName(base, paths, order, rest, to, depth);
      spent += to - rest;
    }
    for (let end = to, k = to - 1; k >= rest; k--) {
      if (++spent >= SLICE) { yield spent; spent = 0; }
      if (k > rest && nameAt(order[k - 1], depth) === nameAt(order[k], depth)) continue;
      ranges.push(k, end, depth + 1);
      end = k;
    }
  }
  const tree = { names: base.names, len };
  for (const part of ["name", "parent", "row", "size", "below", "file", "line"]) tree[part] = whole[part].subarray(0, len);
  yield* addSizes(tree);
  return { tree, self: self.subarray(0, len), before: before.subarray(0, len) };
}

function addNode(tree, i, parent, base, node) {
  tree.name[i] = base.name[node];
  tree.parent[i] = parent;
  tree.row[i] = tree.row[parent] + 1;
  tree.file[i] = base.file[node];
  tree.line[i] = base.line[node];
}

/* A file or a line that differs is left out, as in the data. */
function addPlace(tree, i, base, node) {
  if (tree.file[i] !== base.file[node]) { tree.file[i] = -1; tree.line[i] = 0; }
  else if (tree.line[i] !== base.line[node]) tree.line[i] = 0;
}

/* Leaf first. */
function* invert(base, self, before) {
  const paths = makePaths();
  let spent = 0;
  for (let i = 1; i < base.len; i++) {
    spent++;
    if (spent >= SLICE) { yield spent; spent = 0; }
    if (!self[i] && !(before && before[i])) continue;
    for (let at = i; at > 0; at = base.parent[at]) paths.nodes.push(at);
    endPath(paths, self[i], before ? before[i] : 0);
    spent += base.row[i];
  }
  return yield* mergePaths(base, paths);
}

/* One function in the middle: what calls it above, what it calls below. Of a function that calls
 * itself, the outermost call counts. */
function* joinAround(base, self, before, name) {
  const callers = makePaths(), callees = makePaths();
  const now = yield* addUp(base, self), then = before ? yield* addUp(base, before) : null;
  let spent = 0;
  for (let i = 1; i < base.len; i++) {
    spent++;
    if (spent >= SLICE) { yield spent; spent = 0; }
    if (base.name[i] !== name || !base.isOutermost[i]) continue;
    for (let at = base.parent[i]; at > 0; at = base.parent[at]) callers.nodes.push(at);
    endPath(callers, now[i], then ? then[i] : 0);
    spent += base.row[i];
    for (let k = i; k < i + base.size[i]; k++) {
      spent++;
      if (spent >= SLICE) { yield spent; spent = 0; }
      if (!self[k] && !(before && before[k])) continue;
      const from = callees.nodes.length;
      for (let at = k; at > i; at = base.parent[at]) callees.nodes.push(at);
      for (let x = from, y = callees.nodes.length - 1; x < y; x++, y--)
        [callees.nodes[x], callees.nodes[y]] = [callees.nodes[y], callees.nodes[x]];
      endPath(callees, self[k], before ? before[k] : 0);
      spent += base.row[k] - base.row[i];
    }
  }
  return yield* joinTrees(yield* mergePaths(base, callers), yield* mergePaths(base, callees), name);
}

function* joinTrees(up, down, name) {
  const tree = emptyTree(up.tree.len + down.tree.len - 1, down.tree.names);
  const self = new Float64Array(tree.len), before = new Float64Array(tree.len);
  const rows = up.tree.row.reduce((most, row) => Math.max(most, row), 0);
  tree.name[0] = name;
  tree.row[0] = rows;
  const copy = function* (from, offset, below) {
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
      if (i % SLICE === 0) yield SLICE;
    }
  };
  yield* copy(up, 0, 0);
  yield* copy(down, up.tree.len - 1, 1);
  self[0] = down.self[0];
  before[0] = down.before[0];
  yield* addSizes(tree);
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
function* layOut(tree, type, self, before, width) {
  const isPair = before !== null;
  const own = new Float64Array(tree.len), measure = isPair ? width : "now";
  let isSigned = isPair;
  for (let i = 0; i < tree.len; i++) {
    own[i] = weightOf(self[i], isPair ? before[i] : 0, measure);
    if (self[i] < 0) isSigned = true;
    if (i % SLICE === SLICE - 1) yield SLICE;
  }
  const layout = {
    tree, type, isPair, self, selfBefore: before,
    now: yield* addUp(tree, self),
    before: isPair ? yield* addUp(tree, before) : null,
    weight: yield* addUp(tree, own),
    start: new Float64Array(tree.len),
    isSigned,
    isThere: new Uint8Array(tree.names.length), /* for each name: a frame has it */
  };
  const { start, weight } = layout;
  const children = [];
  for (let i = 0; i < tree.len; i++) {
    const end = i + tree.size[i];
    if (i % SLICE === SLICE - 1) yield SLICE;
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

/* From -1 (there is nothing of it now, or its value fell below 0) to 1 (there was nothing of it before, or
 * its value rose above 0). */
function changeOf(layout, i) {
  if (!layout.isPair) return layout.weight[i] ? layout.now[i] / layout.weight[i] : 0;
  const larger = Math.max(Math.abs(layout.now[i]), Math.abs(layout.before[i]));
  return larger ? Math.min(Math.max((layout.now[i] - layout.before[i]) / larger, -1), 1) : 0;
}

/* The functions of the table and the totals: sums by name. A recursive call counts once. */
function* sumByName(tree, self, before) {
  const rows = tree.names.map((name, id) => ({ name, id, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
  const now = yield* addUp(tree, self), then = before ? yield* addUp(tree, before) : null;
  for (let i = 1; i < tree.len; i++) {
    if (i % SLICE === 0) yield SLICE;
    const row = rows[tree.name[i]];
    row.self += self[i];
    if (tree.isOutermost[i]) row.total += now[i];
    if (!before) continue;
    row.selfBefore += before[i];
    if (tree.isOutermost[i]) row.totalBefore += then[i];
  }
  return {
    rows: rows.filter((row) => row.self || row.total || row.selfBefore || row.totalBefore),
    total: now[0],
    totalBefore: then ? then[0] : 0,
  };
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
function* weighMatches(layout, hits) {
  const { tree } = layout;
  let weight = 0, count = 0, spent = 0;
  for (let i = tree.name[0] < 0 ? 1 : 0; i < tree.len;) {
    if (++spent === SLICE) { yield spent; spent = 0; }
    if (!(layout.weight[i] > 0)) { i += tree.size[i]; continue; }
    if (!hits[tree.name[i]] || !tree.below[i]) { i++; continue; }
    weight += layout.weight[i];
    i += tree.size[i];
  }
  for (let name = 0; name < hits.length; name++) count += hits[name] & layout.isThere[name];
  return { weight, functions: count };
}

/* ---- names and numbers ----------------------------------------------------------------------------- */

/* The end of the first package or class of a name, outside of brackets; 0 if there is none. */
function endOfHome(text) {
  let depth = 0;
  for (let i = 0; i < text.length - 1; i++) {
    if ("<([{".includes(text[i - 1])) depth++;
    if (depth && ">)]}".includes(text[i - 1])) depth--;
    if (!depth && text.startsWith("::", i)) return i + 2;
    if (!depth && text[i] === "." && text[i + 1] !== ".") return i + 1;
  }
  return 0;
}

/* A name as short as can be read: without arguments and type arguments, without the path of its
 * package, and then without its package or class. What stands in brackets by itself is a name: "<init>",
 * "(*T)", "<lambda>", "Integer#<=>". */
function shorten(name, room) {
  if (name.length <= room) return name;
  let text = name.replace(/(?<=[\w)>\]])(?<!operator)\((?:[^()]|\([^()]*\))*\)(?: const)?$/, "");
  for (let before = ""; before !== text && text.length > room;) {
    before = text;
    text = text.replace(/(?<=\w)(?<!operator)(?:<[^<>]*>|\[[^[\]]*\])/g, "");
  }
  if (text.length > room) text = text.replace(/^.*[/\\](?=.*[^\d])/, ""); /* f/2 is a function of Erlang */
  while (text.length > room) {
    const rest = text.slice(endOfHome(text));
    if (rest === text || /^func\d+(?:\.|$)/.test(rest)) break;
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

/* "12.3%", and "10,900 times" if it is ten times the whole or more. */
function formatShare(part, whole) {
  const share = part / whole;
  if (!whole) return "-";
  return Math.abs(share) < 10 ? `${(100 * share).toFixed(1)}%` : `${Number(share.toPrecision(3)).toLocaleString("en-US")} times`;
}

/* A change, and how large it is beside what was before. */
function formatChangeOf(now, before, unit) {
  return `${formatChange(now - before, unit)} (${formatShare(now - before, Math.abs(before))})`;
}

/* Times to the second, durations and labels in nanoseconds to three digits. */
function formatTimes(text) {
  return text.replace(/(\d\d:\d\d:\d\d)\.\d+Z/g, "$1Z")
    .replace(/(^|[^\d.])(\d+\.\d+) s\b/g, (_, before, seconds) => before + formatValue(seconds * 1e9, "nanoseconds"))
    .replace(/(\d+)nanoseconds$/, (_, number) => formatValue(Number(number), "nanoseconds"));
}
