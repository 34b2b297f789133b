/* The graph on its canvas: drawing it, finding the frame at a point, moving the view.
 *
 * Frames narrower than a pixel are drawn as one column for each pixel. A frame outside the canvas is
 * skipped with its whole subtree. So the cost of a picture depends on what is visible, not on the
 * size of the profile. */

const ROW = 20, FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

function makeGraph(canvas, extent, view, tree) {
  const context = canvas.getContext("2d");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const state = {
    layout: null, hits: null, zoom: 0, selected: 0, hover: -1,
    left: 0, span: 1, /* the visible part of the layout's axis */
    width: 0, height: 0, animation: 0, drawn: 0,
  };
  let ink = null, glyph = 7;

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
  const hue = Uint8Array.from(tree.names, (name) => {
    const slash = name.lastIndexOf("/") + 1;
    const dot = name.slice(slash).search(/\.|::/);
    const home = dot < 0 ? name : name.slice(0, slash + dot);
    let hash = 2166136261;
    for (let i = 0; i < home.length; i++) hash = Math.imul(hash ^ home.charCodeAt(i), 16777619);
    return (hash >>> 8) % 24;
  });

  function fillOf(i) {
    if (i === 0) return ink.other;
    if (state.hits && !state.hits[tree.name[i]]) return ink.other;
    if (state.layout.isSigned) return ink.ramp[Math.round(20 + 20 * changeOf(state.layout, i))];
    return ink.hues[hue[tree.name[i]]];
  }

  function labelOf(i) {
    return i === 0 ? "all" : tree.names[tree.name[i]];
  }

  /* The end of a name, as much as there is room for. */
  function putLabel(i, x, y, width) {
    const room = Math.floor((width - 6) / glyph);
    if (room < 3) return;
    const name = labelOf(i);
    context.fillText(name.length <= room ? name : "\u2026" + name.slice(name.length - room + 1), x + 3, y + ROW / 2);
  }

  function putFrame(i, x, width, y) {
    const left = Math.max(x, 0), right = Math.min(x + width, state.width);
    context.fillStyle = fillOf(i);
    context.fillRect(left, y, Math.max(right - left - 1, 1), ROW - 1);
    if (state.hits && i && state.hits[tree.name[i]]) {
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
    context.strokeRect(left + 1, tree.depth[i] * ROW - top + 1, Math.max(right - left - 3, 1), ROW - 3);
  }

  function draw() {
    const { start, weight } = state.layout, top = view.scrollTop, scale = state.width / state.span;
    const first = Math.floor(top / ROW), last = Math.ceil((top + state.height) / ROW);
    const column = new Int32Array(Math.max(last - first + 1, 1)).fill(-1); /* the last one filled in each row */
    let drawn = 0;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = ink.ground;
    context.fillRect(0, 0, state.width, state.height);
    context.font = FONT;
    context.textBaseline = "middle";
    for (let i = 0; i < tree.len;) {
      const x = (start[i] - state.left) * scale, width = weight[i] * scale, row = tree.depth[i];
      if (!(width > 0) || x + width <= 0 || x >= state.width || row > last) {
        i += tree.size[i];
      } else if (width < 1) {
        if (row >= first && column[row - first] !== Math.floor(x)) {
          column[row - first] = Math.floor(x);
          context.fillStyle = fillOf(i);
          context.fillRect(Math.floor(x), row * ROW - top, 1, ROW - 1);
          drawn++;
        }
        i += tree.size[i];
      } else {
        if (row >= first) {
          putFrame(i, x, width, row * ROW - top);
          drawn++;
        }
        i++;
      }
    }
    if (state.hover > 0) outline(state.hover, ink.text, top);
    outline(state.selected, ink.focus, top);
    state.drawn = drawn;
    canvas.dataset.drawn = drawn;
  }

  let asked = 0;
  function ask() {
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; draw(); });
  }

  /* The canvas is as large as the visible part. The extent behind it sets the scroll bar: it goes
   * down to the row below the last one that has a frame of a pixel. */
  function measure() {
    const { weight } = state.layout, end = state.zoom + tree.size[state.zoom];
    const pixel = weight[state.zoom] / Math.max(view.clientWidth, 1);
    let deepest = tree.depth[state.zoom];
    for (let i = state.zoom; i < end; i++)
      if (tree.depth[i] > deepest && weight[i] > 0 && weight[tree.parent[i]] >= pixel) deepest = tree.depth[i];
    extent.style.height = `${Math.max((deepest + 1) * ROW, view.clientHeight)}px`;
    state.width = view.clientWidth;
    state.height = view.clientHeight;
    canvas.style.height = `${state.height}px`;
    canvas.width = Math.round(state.width * devicePixelRatio);
    canvas.height = Math.round(state.height * devicePixelRatio);
    ask();
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
    step();
  }

  function reveal(i) {
    const y = tree.depth[i] * ROW;
    if (y < view.scrollTop) view.scrollTop = y;
    else if (y + 2 * ROW > view.scrollTop + state.height) view.scrollTop = y + 2 * ROW - state.height;
  }

  const graph = {
    state, labelOf,
    recolour() { readInk(); ask(); },
    redraw: ask,
    measure,
    show(layout) {
      state.layout = layout;
      if (!(layout.weight[state.zoom] > 0)) state.zoom = 0;
      if (!(layout.weight[state.selected] > 0)) state.selected = state.zoom;
      measure();
      moveTo(layout.start[state.zoom], layout.weight[state.zoom] || 1, false);
    },
    find(hits) { state.hits = hits; ask(); },
    zoom(i) {
      state.zoom = state.selected = i;
      measure();
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
      let i = 0;
      if (where < 0 || where >= weight[0]) return -1;
      while (tree.depth[i] < row) {
        let child = i + 1;
        const end = i + tree.size[i];
        while (child < end && !(start[child] <= where && where < start[child] + weight[child])) child += tree.size[child];
        if (child >= end) return -1;
        i = child;
      }
      return i;
    },
    /* The widest child, or -1. */
    child(i) {
      let best = -1;
      for (let c = i + 1; c < i + tree.size[i]; c += tree.size[c])
        if (state.layout.weight[c] > (best < 0 ? 0 : state.layout.weight[best])) best = c;
      return best;
    },
    /* The next frame in the row, within the zoomed frame, or -1. */
    beside(i, step) {
      const { start, weight } = state.layout, zoom = state.zoom;
      for (let c = i + step; c > zoom && c < zoom + tree.size[zoom]; c += step)
        if (tree.depth[c] === tree.depth[i] && weight[c] > 0 &&
            (step > 0 ? start[c] >= start[i] + weight[i] : start[c] < start[i])) return c;
      return -1;
    },
  };
  readInk();
  return graph;
}
