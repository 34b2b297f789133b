/* The graph on its canvas: drawing it, finding the frame at a point, moving the view.
 *
 * Frames narrower than a pixel are drawn as one column for each pixel. A frame outside the canvas is
 * skipped with its whole subtree. So the cost of a picture depends on what is visible, not on the
 * size of the profile. canvas.dataset has the work of the last picture: frames drawn and nodes visited. */

const ROW = 20, LEAST_ROWS = 3, FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

function makeGraph(canvas, extent, view, names) {
  const context = canvas.getContext("2d");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const state = {
    layout: null, hits: null, zoom: 0, selected: 0, hover: -1,
    left: 0, span: 1, /* the visible part of the layout's axis */
    rows: 0, width: 0, height: 0, animation: 0,
  };
  let ink = null, glyph = 7, tree = null;

  function readInk() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const channels = (name) => {
      const hex = value(name).slice(1);
      return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
    };
    const [same, growth, shrinkage] = [channels("--same"), channels("--growth"), channels("--shrinkage")];
    const mix = (to, share) => `rgb(${same.map((one, i) => Math.round(one + (to[i] - one) * share)).join(",")})`;
    ink = {
      ground: value("--ground"), text: value("--text"), focus: value("--focus"),
      other: value("--other"), match: value("--match"),
      hues: Array.from({ length: 24 }, (_, i) => `hsl(${i * 15}, ${value("--chroma")}, ${value("--lightness")})`),
      ramp: Array.from({ length: 41 }, (_, i) => (i < 20 ? mix(shrinkage, 0.62 * (20 - i) / 20) : mix(growth, 0.62 * (i - 20) / 20))),
    };
    context.font = FONT;
    glyph = context.measureText("0").width;
  }

  /* Functions of one package have one hue. */
  const hue = Uint8Array.from(names, (name) => {
    const slash = name.lastIndexOf("/") + 1;
    const dot = name.slice(slash).search(/\.|::/);
    const home = dot < 0 ? name : name.slice(0, slash + dot);
    let hash = 2166136261;
    for (let i = 0; i < home.length; i++) hash = Math.imul(hash ^ home.charCodeAt(i), 16777619);
    return (hash >>> 8) % 24;
  });

  function fillOf(i) {
    if (tree.name[i] < 0) return ink.other;
    if (state.hits && !state.hits[tree.name[i]]) return ink.other;
    if (state.layout.isSigned) return ink.ramp[Math.round(20 + 20 * changeOf(state.layout, i))];
    return ink.hues[hue[tree.name[i]]];
  }

  function labelOf(i) {
    return tree.name[i] < 0 ? "all" : tree.names[tree.name[i]];
  }

  function putLabel(i, x, y, width) {
    const room = Math.floor((width - 5) / glyph);
    if (room >= 3) context.fillText(shorten(labelOf(i), room), x + 3, y + ROW / 2);
  }

  function putFrame(i, x, width, y) {
    const left = Math.max(x, 0), right = Math.min(x + width, state.width);
    context.fillStyle = fillOf(i);
    context.fillRect(left, y, right - left > 3 ? right - left - 1 : right - left, ROW - 1);
    if (state.hits && tree.name[i] >= 0 && state.hits[tree.name[i]]) {
      context.fillStyle = ink.match;
      context.fillRect(left, y + ROW - 4, Math.max(right - left - 1, 1), 3);
    }
    context.fillStyle = ink.text;
    putLabel(i, left, y, right - left);
  }

  function outline(i, colour, top) {
    const scale = state.width / state.span;
    const x = (state.layout.start[i] - state.left) * scale, width = state.layout.weight[i] * scale;
    const left = Math.max(x, 0), right = Math.min(x + width, state.width);
    if (right <= left) return;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(left + 1, tree.row[i] * ROW - top + 1, Math.max(right - left - 3, 1), ROW - 3);
  }

  /* Whether the subtree of a node has nothing in the rows from first to last. Callers go up. */
  function isAside(i, first, last) {
    const { zoom } = state;
    if (zoom && tree.below[zoom] !== tree.below[i] && i) return true;
    return tree.below[i] && i ? tree.row[i] > last : i > 0 && tree.row[i] < first;
  }

  function draw() {
    if (!tree) return;
    const { start, weight } = state.layout, top = view.scrollTop, scale = state.width / state.span;
    const first = Math.floor(top / ROW), last = Math.ceil((top + state.height) / ROW);
    const columns = Math.max(Math.ceil(state.width), 1);
    const filled = new Uint8Array(columns * Math.max(last - first + 1, 1)); /* columns of frames below a pixel */
    let drawn = 0, visited = 0;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = ink.ground;
    context.fillRect(0, 0, state.width, state.height);
    context.font = FONT;
    context.textBaseline = "middle";
    for (let i = 0; i < tree.len;) {
      const x = (start[i] - state.left) * scale, width = weight[i] * scale, row = tree.row[i];
      visited++;
      if (!(width > 0) || x + width <= 0 || x >= state.width || isAside(i, first, last)) {
        i += tree.size[i];
      } else if (width < 1) {
        const column = Math.max(Math.floor(x), 0), place = (row - first) * columns + column;
        if (row >= first && row <= last && !filled[place]) {
          filled[place] = 1;
          context.fillStyle = fillOf(i);
          context.fillRect(column, row * ROW - top, 1, ROW - 1);
          drawn++;
        }
        i += tree.size[i];
      } else {
        if (row >= first && row <= last) {
          putFrame(i, x, width, row * ROW - top);
          drawn++;
        }
        i++;
      }
    }
    if (state.layout.nothing) {
      context.fillStyle = ink.text;
      context.fillText(state.layout.nothing, ROW, 1.5 * ROW, state.width - 2 * ROW);
    }
    if (state.hover >= 0) outline(state.hover, ink.text, top);
    outline(state.selected, ink.focus, top);
    canvas.dataset.drawn = drawn;
    canvas.dataset.visited = visited;
  }

  let asked = 0;
  function ask() {
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; draw(); });
  }

  /* The canvas is as large as the visible part. The extent behind it sets the scroll bar: it goes
   * down to the row below the last one that has a frame of a pixel. The view is as high, up to its largest
   * height; a zoom makes it no lower, so that what is below it stays where it is. */
  function fit() {
    const { weight } = state.layout, end = state.zoom + tree.size[state.zoom];
    const pixel = weight[state.zoom] / Math.max(view.clientWidth, 1);
    let deepest = Math.max(tree.row[state.zoom], tree.row[0]);
    for (let i = state.zoom; i < end; i++) {
      if (!(weight[i] >= pixel) && i > state.zoom) { i += tree.size[i] - 1; continue; }
      if (tree.row[i] >= deepest) deepest = tree.row[i] + 1;
    }
    state.rows = Math.max(state.rows, deepest + 1);
    view.style.setProperty("--height", `${state.rows * ROW}px`);
    extent.style.height = `${Math.max((deepest + 1) * ROW, view.clientHeight)}px`;
    state.width = view.clientWidth;
    state.height = view.clientHeight;
    canvas.style.height = `${state.height}px`;
    const width = Math.round(state.width * devicePixelRatio), height = Math.round(state.height * devicePixelRatio);
    if (canvas.width !== width) canvas.width = width; /* clears the canvas */
    if (canvas.height !== height) canvas.height = height;
  }

  function moveTo(left, span, moves) {
    cancelAnimationFrame(state.animation);
    const from = { left: state.left, span: state.span }, began = performance.now();
    const step = () => {
      const share = moves && !calm.matches ? Math.min((performance.now() - began) / 160, 1) : 1;
      const eased = share * (2 - share);
      state.left = from.left + (left - from.left) * eased;
      state.span = from.span + (span - from.span) * eased;
      draw();
      canvas.dataset.moves = share < 1;
      if (share < 1) state.animation = requestAnimationFrame(step);
    };
    canvas.dataset.moves = moves;
    if (moves) state.animation = requestAnimationFrame(step);
    else step();
  }

  function reveal(i) {
    const y = tree.row[i] * ROW;
    if (y < view.scrollTop) view.scrollTop = y;
    else if (y + 2 * ROW > view.scrollTop + state.height) view.scrollTop = y + 2 * ROW - state.height;
  }

  const graph = {
    state, labelOf,
    recolour() { readInk(); ask(); },
    redraw: ask,
    measure() { if (tree) { fit(); draw(); } }, /* at once: fit() may have cleared the canvas */
    /* Shows a layout, zoomed to a node. */
    show(layout, zoom) {
      state.layout = layout;
      tree = layout.tree;
      state.zoom = state.selected = zoom < tree.len && layout.weight[zoom] > 0 ? zoom : 0;
      state.hover = -1;
      state.rows = LEAST_ROWS;
      fit();
      view.scrollTop = 0;
      if (tree.name[0] >= 0 && !state.zoom) view.scrollTop = (tree.row[0] + 0.5) * ROW - state.height / 2;
      else reveal(state.zoom);
      moveTo(layout.start[state.zoom], layout.weight[state.zoom] || 1, false);
    },
    find(hits) { state.hits = hits; ask(); },
    zoom(i) {
      state.zoom = state.selected = i;
      fit();
      moveTo(state.layout.start[i], state.layout.weight[i] || 1, true);
      reveal(i);
    },
    select(i) { state.selected = i; reveal(i); ask(); },
    hover(i) { if (i !== state.hover) { state.hover = i; ask(); } },
    isSeen(i) {
      const { start, weight } = state.layout;
      return start[i] + weight[i] > state.left && start[i] < state.left + state.span &&
        weight[i] / state.span * state.width >= 3;
    },
    /* The frame at a point of the canvas, or -1. */
    at(x, y) {
      const { start, weight } = state.layout;
      const row = Math.floor((y + view.scrollTop) / ROW), where = state.left + x / state.width * state.span;
      for (let i = 0; i < tree.len;) {
        if (!(start[i] <= where && where < start[i] + weight[i]) || isAside(i, row, row)) i += tree.size[i];
        else if (tree.row[i] === row) return i;
        else i++;
      }
      return -1;
    },
    /* The widest child, or -1; among the callers if isUp. */
    child(i, isUp) {
      let best = -1;
      for (let c = i + 1; c < i + tree.size[i]; c += tree.size[c])
        if (tree.below[c] !== (isUp ? 1 : 0) && state.layout.weight[c] > (best < 0 ? 0 : state.layout.weight[best])) best = c;
      return best;
    },
    /* The next frame in the row, within the zoomed frame, or -1. */
    beside(i, step) {
      const { start, weight } = state.layout, zoom = state.zoom;
      let best = -1;
      for (let c = zoom + 1; c < zoom + tree.size[zoom]; c++) {
        if (!(weight[c] > 0) || c === i) { c += tree.size[c] - 1; continue; }
        if (tree.row[c] !== tree.row[i]) continue;
        const isBeside = step > 0 ? start[c] >= start[i] + weight[i] : start[c] < start[i];
        if (isBeside && (best < 0 || (step > 0 ? start[c] < start[best] : start[c] > start[best]))) best = c;
        c += tree.size[c] - 1; /* the frames below have other rows */
      }
      return best;
    },
    /* Where the middle of a frame is on the canvas. */
    middle(i) {
      const { start, weight } = state.layout, scale = state.width / state.span;
      const left = Math.max((start[i] - state.left) * scale, 0);
      const right = Math.min((start[i] + weight[i] - state.left) * scale, state.width);
      return [(left + right) / 2, (tree.row[i] + 1) * ROW - view.scrollTop];
    },
  };
  readInk();
  return graph;
}
