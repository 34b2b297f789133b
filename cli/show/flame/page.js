/* The page around the graph: what is shown, the text of a frame, search, keys.
 *
 * `shown` has the whole state. go() changes it, shows it, and puts it into the address.
 *
 * A report (leaks/page/) may stand above the graph; else report is null. It has keys of its own in the
 * state (first, allowed), sets the values of the types for a state (choose), and shows it (show). */

const element = (id) => document.getElementById(id);

function makePage(data, report) {
  const base = readTree(data);
  const canvas = element("graph"), view = element("view"), tip = element("tip");
  const graph = makeGraph(canvas, element("extent"), view, data.names);
  const state = graph.state, slices = makeSlices(element("busy"));
  const isPair = data.profiles.length > 1;
  const WIDTHS = ["larger", "now", "before", "change"], MOST_LABELS = 1000;
  const first = { view: "flame", of: "", type: data.chosen, width: "larger", label: "", search: "", zoom: 0, ...report?.first };
  let shown = { ...first }, layout = null, values = null;
  let isBuilding = false; /* the graph is not yet that of `shown` */
  const numberOf = new Map(data.names.map((name, id) => [name, id]));
  const unit = () => layout.type.unit;

  /* ---- the profiles ---- */

  function describe(profile) {
    const parts = [`${profile.samples.toLocaleString("en-US")} samples`];
    if (profile.binary) parts.push(profile.binary);
    if (profile.buildId) parts.push(`build id ${profile.buildId}`);
    if (profile.time) parts.push(formatTimes(profile.time));
    if (profile.duration) parts.push(`${profile.isDelta ? "a delta of " : ""}${formatTimes(profile.duration)}`);
    return parts.join(", ");
  }

  const isZero = (type) => type.self.length === 0 && !(isPair && type.before.length);

  function putHead() {
    const files = data.profiles.map((profile) => profile.file);
    const title = data.title ?? files.join(" \u2192 ");
    document.title = `${title} \u2013 pprofdelta`;
    element("title").textContent = title;
    element("facts").textContent = data.facts ?? data.profiles.map(describe).join(" \u2192 ") +
      data.profiles.at(-1).comments.map((comment) => `; ${comment}`).join("");
    element("notes").hidden = data.notes.length === 0;
    element("notes").append(...data.notes.map(([name, text]) => {
      const line = document.createElement("li");
      line.textContent = `${name}: ${text}`;
      return line;
    }));
    data.types.forEach((type, i) => element("type").append(new Option(`${type.type}/${type.unit}${isZero(type) ? " (all 0)" : ""}`, i)));
    element("width-label").hidden = !isPair;
    element("table").classList.toggle("pair", isPair);
    element("label-label").hidden = data.labels.length === 0;
    element("labels").append(...[...data.labels].sort().slice(0, MOST_LABELS).map((label) => new Option("", label)));
  }

  function putTotals(now, before) {
    const parts = [`${layout.type.type}: ${isPair ? `${formatValue(before, unit())} \u2192 ` : ""}${formatValue(now, unit())}`];
    if (isPair) parts.push(formatChangeOf(now, before, unit()));
    if (values.isKept) parts.push(`with the label ${shown.label}`);
    element("totals").textContent = parts.join(", ");
  }

  /* What stands in the place of a graph without a frame. */
  function nothingText() {
    const others = data.types.filter((type) => !isZero(type)).map((type) => type.type);
    if (!isZero(values.type)) return `No sample with ${values.type.type} is left.`;
    return `${values.type.type} is 0 in every sample. ${others.length ? `Other types: ${others.join(", ")}.` : ""}`;
  }

  /* ---- the text of one frame ---- */

  function placeOf(i) {
    const { file, line } = layout.tree;
    if (file[i] < 0) return "";
    return data.files[file[i]] + (line[i] ? `:${line[i]}` : "");
  }

  function valueParts(i) {
    const total = layout.now[i], self = layout.self[i];
    const parts = [];
    if (isPair) {
      parts.push(`${formatValue(layout.before[i], unit())} \u2192 ${formatValue(total, unit())}`,
        `change ${formatChangeOf(total, layout.before[i], unit())}`,
        `self ${formatChange(self - layout.selfBefore[i], unit())}`);
    } else {
      parts.push(`total ${formatValue(total, unit())} (${formatShare(layout.weight[i], layout.weight[0])})`,
        `self ${formatValue(self, unit())} (${formatShare(Math.abs(self), layout.weight[0])})`);
    }
    if (state.zoom && i !== state.zoom) parts.push(`${formatShare(layout.weight[i], layout.weight[state.zoom])} of ${graph.labelOf(state.zoom)}`);
    return parts;
  }

  function tell(i) {
    element("detail").textContent = [graph.labelOf(i), ...valueParts(i), placeOf(i)].filter(Boolean).join(", ");
  }

  /* The tooltip at a point of the window. */
  function putTip(texts, x, y) {
    const lines = texts.filter(Boolean).map((text) => {
      const line = document.createElement("div");
      line.textContent = text;
      return line;
    });
    tip.replaceChildren(...lines);
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), room = document.documentElement;
    const left = Math.min(x + 14, room.clientWidth - box.width - 8);
    const top = y + 18 + box.height > room.clientHeight ? y - box.height - 10 : y + 18;
    tip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  function hideTip() {
    tip.hidden = true;
    graph.hover(-1);
  }

  /* ---- copying ---- */

  /* Leaf first, with files and lines, as --stacks prints it. */
  function stackOf(i) {
    const { tree } = layout, path = [];
    for (let at = i; at >= 0; at = tree.parent[at]) if (tree.name[at] >= 0) path.push(at);
    if (layout.view === "inverted" || !tree.below[i]) path.reverse();
    return path.map((at) => [graph.labelOf(at), placeOf(at)].filter(Boolean).join("  ")).join("\n");
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      canvas.focus({ preventScroll: true });
    }
    element("copied").textContent = `copied the ${what}`;
  }

  const copyName = () => copy(graph.labelOf(state.selected), "name");
  const copyStack = () => copy(stackOf(state.selected), "stack");

  /* ---- what is shown ---- */

  /* The values of the base tree, for the type and the labels that are chosen. */
  function chooseValues() {
    report?.choose(shown);
    const type = data.types[shown.type], { hits, error } = matchTexts(data.labels, shown.label);
    const isKept = hits ? data.sets.map((set) => set.some((label) => hits[label])) : null;
    element("label").setAttribute("aria-invalid", error !== "");
    element("label").title = error;
    values = {
      isKept, type,
      self: spread(base, type.self, type.set, isKept),
      before: isPair ? spread(base, type.before, type.setBefore, isKept) : null,
    };
    return error;
  }

  function* chooseTree() {
    if (shown.view === "inverted") return yield* invert(base, values.self, values.before);
    if (shown.view === "around") return yield* joinAround(base, values.self, values.before, numberOf.get(shown.of));
    return { tree: base, self: values.self, before: values.before };
  }

  const table = makeTable(
    { table: element("table"), heads: element("heads"), more: element("more"), title: element("table-title") },
    isPair
      ? [["selfBefore", "Self before"], ["self", "Self now"], ["selfChange", "Self change"], ["totalChange", "Total change"], ["name", "Function"]]
      : [["self", "Self"], ["selfShare", "%"], ["total", "Total"], ["totalShare", "%"], ["name", "Function"]],
    { key: isPair ? "selfChange" : "self", sign: -1 },
    {
      find: (row) => { element("search").value = row.name; setSearch(); step(1); },
      around: (row) => { showAround(row.name); view.scrollIntoView({ block: "nearest" }); },
      place: (row) => fileOfName[row.id] ?? "",
    },
  );

  /* The file of each function, if it has one. */
  const fileOfName = [];
  for (let i = 1; i < base.len; i++) {
    const text = base.file[i] < 0 ? "" : data.files[base.file[i]], name = base.name[i];
    fileOfName[name] = fileOfName[name] === undefined || fileOfName[name] === text ? text : "";
  }

  /* Builds the graph and the table of `shown`. What was shown before stays until they are there. */
  function* choose() {
    isBuilding = true;
    const error = chooseValues(), { tree, self, before } = yield* chooseTree();
    const next = yield* layOut(tree, values.type, self, isPair ? before : null, shown.width);
    const sums = yield* sumByName(base, values.self, values.before);
    const isLarge = tree.len > SLICE;
    table.show(sums.rows, values.type.unit, sums.total);
    if (isLarge) yield 0;
    const isSame = layout && layout.tree === tree, selected = state.selected;
    isBuilding = false;
    layout = { ...next, view: shown.view, nothing: next.weight[0] > 0 ? "" : nothingText() };
    graph.show(layout, shown.zoom);
    if (isSame && layout.weight[selected] > 0) graph.select(selected);
    element("legend").hidden = !layout.isSigned;
    canvas.ariaLabel = layout.nothing || `${element("view-kind").selectedOptions[0].textContent} of ${layout.type.type}`;
    hideTip();
    putTotals(sums.total, sums.totalBefore);
    if (error) element("totals").textContent = `Label: ${error}`;
    tell(state.selected);
    if (isLarge) yield 0;
    yield* search();
  }

  function putControls() {
    element("view-kind").value = shown.view;
    element("view-kind").options[2].disabled = shown.view !== "around";
    element("view-kind").options[2].textContent = shown.view === "around" ? `callers and callees of ${shorten(shown.of, 40)}` : "callers and callees";
    element("type").value = shown.type;
    element("width").value = shown.width;
    for (const id of ["label", "search"]) if (element(id).value.trim() !== shown[id]) element(id).value = shown[id];
    element("reset").disabled = shown.zoom === 0 && shown.view === "flame";
  }

  const CHOICES = ["view", "of", "type", "width", "label", ...(report?.choices ?? [])];

  /* Shows the state `next`. */
  function show(next) {
    const before = shown;
    shown = next;
    putControls();
    if (!layout || CHOICES.some((key) => before[key] !== shown[key])) {
      slices.start(choose(), "building\u2026");
    } else if (!isBuilding) {
      if (before.search !== shown.search) slices.start(search(), "searching\u2026");
      if (before.zoom !== shown.zoom) graph.zoom(shown.zoom < layout.tree.len ? shown.zoom : 0);
      tell(state.selected);
    }
    hideTip();
    element("copied").textContent = "";
    report?.show(shown);
  }

  let late = 0;

  /* What is no step back replaces the address, later or before the next step: browsers limit how often that may be done. */
  function go(changes, isStep = true) {
    if (isStep) writeAddress("replaceState");
    show({ ...shown, ...changes });
    clearTimeout(late);
    if (isStep) writeAddress("pushState");
    else late = setTimeout(writeAddress, 100, "replaceState");
  }

  function writeAddress(how) {
    const link = writeLink(shown, first);
    if (link !== location.hash) history[how](null, "", link || location.pathname + location.search);
  }

  function readAddress() {
    return readLink(location.hash, first, {
      view: (text) => (["flame", "inverted", "around"].includes(text) ? text : undefined),
      of: (text) => (numberOf.has(text) ? text : undefined),
      type: (text) => (Object.hasOwn(data.types, text) ? Number(text) : undefined),
      width: (text) => (isPair && WIDTHS.includes(text) ? text : undefined),
      label: (text) => text,
      search: (text) => text,
      zoom: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
      ...report?.allowed,
    });
  }

  function showAddress() {
    const next = readAddress();
    if (next.view === "around" && !next.of) next.view = "flame";
    show(next);
  }

  function showView(kind) {
    if (kind !== shown.view) go({ view: kind, of: "", zoom: 0 });
  }

  function showAround(name) {
    if (numberOf.has(name)) go({ view: "around", of: name, zoom: 0 });
  }

  /* A zoom stays where the tree stays. */
  function change(changes, isStep = true) {
    go(shown.view === "flame" ? changes : { ...changes, zoom: 0 }, isStep);
  }

  function zoom(i) {
    if (isBuilding) return;
    if (i === shown.zoom) graph.select(i);
    go({ zoom: i });
    tell(i);
  }

  function goOut() {
    if (shown.zoom || shown.view !== "around") zoom(0);
    else showView("flame");
  }

  function select(i) {
    if (i < 0) return;
    graph.select(i);
    tell(i);
  }

  /* ---- search ---- */

  function* search() {
    const { hits, error } = matchTexts(data.names, shown.search);
    graph.find(hits);
    element("search").setAttribute("aria-invalid", error !== "");
    element("found").textContent = error;
    if (hits) {
      const found = yield* weighMatches(layout, hits);
      element("found").textContent = `${found.functions.toLocaleString("en-US")} function${found.functions === 1 ? "" : "s"}, ` +
        formatShare(found.weight, layout.weight[0]);
      if (layout.tree.len > SLICE) yield 0;
    }
    table.find(hits);
  }

  function setSearch() {
    go({ search: element("search").value.trim() }, false);
  }

  /* Once for each picture, however many letters came. */
  let asked = 0;
  function askSearch() {
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; setSearch(); });
  }

  /* Goes to the next frame that was found, and zooms out until it is visible. */
  function step(direction) {
    const { tree, weight } = layout;
    if (!state.hits || isBuilding) return;
    for (let tried = 0, i = state.selected; tried < tree.len; tried++) {
      i = (i + direction + tree.len) % tree.len;
      if (i === 0 || !state.hits[tree.name[i]] || !(weight[i] > 0)) continue;
      if (!graph.isSeen(i)) {
        let home = i;
        while (home && weight[i] >= 0.02 * weight[tree.parent[home]]) home = tree.parent[home];
        zoom(home);
      }
      select(i);
      return;
    }
  }

  /* ---- theme ---- */

  const themeNow = () => document.documentElement.dataset.theme ?? "auto";

  function setTheme(next) {
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    recolour();
  }

  function turnTheme() {
    setTheme({ auto: "light", light: "dark", dark: "auto" }[themeNow()]);
    element("theme").textContent = `Theme: ${themeNow()}`;
  }

  /* Paper is light. What is printed must be drawn at once. */
  function print() {
    const before = themeNow();
    setTheme("light");
    graph.measure();
    window.addEventListener("afterprint", () => setTheme(before), { once: true });
  }

  function recolour() {
    graph.recolour();
    report?.recolour();
  }

  /* ---- keys and pointer ---- */

  function up() {
    const { tree } = layout, i = state.selected, parent = tree.parent[i];
    if (tree.name[0] >= 0 && (i === 0 || !tree.below[i])) select(graph.child(i, true));
    else if (i === state.zoom && parent >= 0) zoom(parent);
    else select(parent);
  }

  function down() {
    const { tree } = layout, i = state.selected;
    if (tree.below[i]) select(graph.child(i, false));
    else if (i === state.zoom) zoom(tree.parent[i]);
    else select(tree.parent[i]);
  }

  const keys = {
    Enter: () => zoom(state.selected),
    " ": () => zoom(state.selected),
    Escape: goOut,
    Home: goOut,
    Backspace: () => zoom(Math.max(layout.tree.parent[state.zoom], 0)),
    ArrowDown: down,
    ArrowUp: up,
    ArrowLeft: () => select(graph.beside(state.selected, -1)),
    ArrowRight: () => select(graph.beside(state.selected, 1)),
  };
  const everywhere = {
    "/": () => { element("search").focus(); element("search").select(); },
    n: () => step(1),
    p: () => step(-1),
    g: () => showView("flame"),
    i: () => showView("inverted"),
    b: () => showAround(graph.labelOf(state.selected)),
    t: () => change({ type: (shown.type + 1) % data.types.length }),
    w: () => { if (isPair) change({ width: WIDTHS[(WIDTHS.indexOf(shown.width) + 1) % WIDTHS.length] }); },
    c: copyName,
    C: copyStack,
    "?": () => element("help").showModal(),
    ...report?.keys,
  };

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return graph.at(event.clientX - box.left, event.clientY - box.top);
  }

  function point(event) {
    const i = place(event);
    graph.hover(i);
    if (i < 0) { hideTip(); tell(state.selected); return; }
    tell(i);
    putTip([graph.labelOf(i), placeOf(i), ...valueParts(i)], event.clientX, event.clientY);
  }

  function listenToKeys() {
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select") || element("help").open) return;
      if (!Object.hasOwn(everywhere, event.key)) return;
      event.preventDefault();
      everywhere[event.key]();
    });
    element("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") { setSearch(); step(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { element("search").value = ""; setSearch(); canvas.focus(); event.preventDefault(); }
    });
  }

  function listen() {
    canvas.addEventListener("mousemove", point);
    canvas.addEventListener("mouseleave", () => { hideTip(); tell(state.selected); });
    canvas.addEventListener("click", (event) => {
      const i = place(event);
      if (i >= 0) zoom(i);
    });
    element("search").addEventListener("input", askSearch);
    element("label").addEventListener("input", () => change({ label: element("label").value.trim() }));
    element("view-kind").addEventListener("change", () => showView(element("view-kind").value));
    element("type").addEventListener("change", () => change({ type: Number(element("type").value) }));
    element("width").addEventListener("change", () => change({ width: element("width").value }));
    element("reset").addEventListener("click", () => { go({ view: "flame", of: "", zoom: 0 }); canvas.focus(); });
    element("theme").addEventListener("click", turnTheme);
    element("help-button").addEventListener("click", everywhere["?"]);
    element("copy-name").addEventListener("click", copyName);
    element("copy-stack").addEventListener("click", copyStack);
    view.addEventListener("scroll", () => { hideTip(); graph.redraw(); }, { passive: true });
    window.addEventListener("popstate", showAddress);
    window.addEventListener("beforeprint", print);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    new ResizeObserver(() => graph.measure()).observe(view);
  }

  report?.start({ base, change, go, putTip, hideTip });
  putHead();
  showAddress();
  slices.finish(); /* there is no picture yet that could be late */
  listen();
  listenToKeys();
  canvas.focus({ preventScroll: true });
}
