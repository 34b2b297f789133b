/* The page around the graph: types, search, table, keys. */

(function page() {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("data").textContent);
  const tree = readTree(data);
  const canvas = element("graph"), view = element("view");
  const graph = makeGraph(canvas, element("extent"), view, tree);
  const state = graph.state;
  const isPair = data.profiles.length > 1;
  const PAGE = 200;
  let layout, rows = [], shown = PAGE, order = { key: isPair ? "selfChange" : "self", sign: -1 };

  const unit = () => layout.type.unit;

  /* ---- the profiles ---- */

  function describe(profile) {
    const parts = [`${profile.samples.toLocaleString("en-US")} samples`];
    if (profile.binary) parts.push(profile.binary);
    if (profile.buildId) parts.push(`build id ${profile.buildId}`);
    if (profile.time) parts.push(profile.time);
    if (profile.duration) parts.push(`${profile.isDelta ? "a delta of " : ""}${profile.duration}`);
    return parts.join(", ");
  }

  function putHead() {
    const files = data.profiles.map((profile) => profile.file);
    const title = files.join(" \u2192 ");
    document.title = `${title} \u2013 pprofdelta`;
    element("title").textContent = title;
    element("facts").textContent = data.profiles.map(describe).join(" \u2192 ") +
      data.profiles.at(-1).comments.map((comment) => `; ${comment}`).join("");
    data.types.forEach((type, i) => element("type").append(new Option(`${type.type}/${type.unit}`, i)));
    element("type").value = data.chosen;
    element("width-label").hidden = !isPair;
  }

  /* ---- the text of one frame ---- */

  function tell(i) {
    const total = layout.now[i], self = layout.self[i];
    const parts = [graph.labelOf(i)];
    if (isPair) {
      parts.push(`${formatValue(layout.before[i], unit())} \u2192 ${formatValue(total, unit())}`,
        `change ${formatChange(total - layout.before[i], unit())} (${formatShare(total - layout.before[i], layout.before[i])})`,
        `self ${formatChange(self - layout.selfBefore[i], unit())}`);
    } else {
      parts.push(`total ${formatValue(total, unit())} (${formatShare(layout.weight[i], layout.weight[0])})`,
        `self ${formatValue(self, unit())} (${formatShare(Math.abs(self), layout.weight[0])})`);
    }
    if (state.zoom && i !== state.zoom) parts.push(`${formatShare(layout.weight[i], layout.weight[state.zoom])} of ${graph.labelOf(state.zoom)}`);
    element("detail").textContent = parts.join(", ");
  }

  function zoom(i) {
    graph.zoom(i);
    element("reset").disabled = i === 0;
    tell(i);
  }

  function select(i) {
    if (i < 0) return;
    graph.select(i);
    tell(i);
  }

  /* ---- search ---- */

  function search() {
    const text = element("search").value.trim();
    const hits = matchNames(tree.names, text);
    graph.find(hits);
    if (!hits) {
      element("found").textContent = text ? "no such pattern" : "";
    } else {
      const found = weighMatches(tree, layout, hits);
      element("found").textContent = `${found.functions.toLocaleString("en-US")} function${found.functions === 1 ? "" : "s"}, ` +
        formatShare(found.weight, layout.weight[0]);
    }
    shown = PAGE;
    putRows();
  }

  /* Goes to the next frame that was found, and zooms out until it is visible. */
  function step(direction) {
    if (!state.hits) return;
    for (let tried = 0, i = state.selected; tried < tree.len; tried++) {
      i = (i + direction + tree.len) % tree.len;
      if (i === 0 || !state.hits[tree.name[i]] || !(layout.weight[i] > 0)) continue;
      if (!graph.isSeen(i)) {
        let home = i;
        while (home && layout.weight[i] >= 0.02 * layout.weight[tree.parent[home]]) home = tree.parent[home];
        zoom(home);
      }
      select(i);
      return;
    }
  }

  /* ---- the table ---- */

  const COLUMNS = isPair
    ? [["selfBefore", "Self before"], ["self", "Self now"], ["selfChange", "Self change"], ["totalChange", "Total change"], ["name", "Function"]]
    : [["self", "Self"], ["selfShare", "%"], ["total", "Total"], ["totalShare", "%"], ["name", "Function"]];

  function valueOf(row, key) {
    if (key === "selfChange") return row.self - row.selfBefore;
    if (key === "totalChange") return row.total - row.totalBefore;
    return row[key.replace("Share", "")];
  }

  function cellText(row, key) {
    if (key.endsWith("Share")) return formatShare(valueOf(row, key), layout.now[0]);
    if (key.endsWith("Change")) return formatChange(valueOf(row, key), unit());
    return formatValue(valueOf(row, key), unit());
  }

  function putHeads() {
    const heads = COLUMNS.map(([key, title]) => {
      const head = document.createElement("th");
      head.scope = "col";
      if (key === order.key) head.ariaSort = order.sign < 0 ? "descending" : "ascending";
      if (key.endsWith("Share")) {
        head.textContent = title;
      } else {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = title;
        button.onclick = () => {
          order = { key, sign: order.key === key ? -order.sign : key === "name" ? 1 : -1 };
          putHeads();
          sortRows();
          putRows();
          element("heads").querySelectorAll("button")[COLUMNS.filter(([k]) => !k.endsWith("Share")).findIndex(([k]) => k === key)].focus();
        };
        head.append(button);
      }
      return head;
    });
    element("heads").replaceChildren(...heads);
  }

  function sortRows() {
    const { key, sign } = order, isChange = key.endsWith("Change");
    const size = (row) => (isChange ? Math.abs(valueOf(row, key)) : valueOf(row, key));
    const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    rows.sort((a, b) => (key === "name" ? sign * byName(a, b) : sign * (size(a) - size(b)) || byName(a, b)));
  }

  function putRow(row) {
    const line = document.createElement("tr");
    for (const [key] of COLUMNS) {
      const cell = document.createElement("td");
      if (key === "name") {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = row.name;
        button.title = "Search for it";
        button.onclick = () => { element("search").value = row.name; search(); step(1); };
        cell.append(button);
      } else {
        cell.textContent = cellText(row, key);
        if (key.endsWith("Change") && valueOf(row, key)) cell.className = valueOf(row, key) > 0 ? "growth" : "shrinkage";
      }
      line.append(cell);
    }
    return line;
  }

  function putRows() {
    const seen = state.hits ? rows.filter((row) => state.hits[row.id]) : rows;
    element("rows").replaceChildren(...seen.slice(0, shown).map(putRow));
    element("more").hidden = seen.length <= shown;
    element("more").textContent = `More (${(seen.length - shown).toLocaleString("en-US")})`;
    element("table-title").textContent = `Functions (${seen.length.toLocaleString("en-US")})`;
  }

  /* ---- types ---- */

  function choose() {
    layout = layOut(tree, data.types[Number(element("type").value)], element("width").value);
    graph.show(layout);
    element("legend").hidden = !layout.isSigned;
    element("reset").disabled = state.zoom === 0;
    canvas.ariaLabel = `Flame graph of ${layout.type.type}`;
    rows = sumByName(tree, layout);
    sortRows();
    search();
    tell(state.selected);
  }

  /* ---- theme ---- */

  function turnTheme() {
    const next = { auto: "light", light: "dark", dark: "auto" }[document.documentElement.dataset.theme ?? "auto"];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    element("theme").textContent = `Theme: ${next}`;
    graph.recolour();
  }

  /* ---- keys and pointer ---- */

  const keys = {
    Enter: () => zoom(state.selected),
    " ": () => zoom(state.selected),
    Escape: () => zoom(0),
    Home: () => zoom(0),
    Backspace: () => zoom(Math.max(tree.parent[state.zoom], 0)),
    ArrowDown: () => select(graph.child(state.selected)),
    ArrowUp: () => {
      const parent = tree.parent[state.selected];
      if (state.selected === state.zoom && parent >= 0) zoom(parent);
      else select(parent);
    },
    ArrowLeft: () => select(graph.beside(state.selected, -1)),
    ArrowRight: () => select(graph.beside(state.selected, 1)),
  };
  const everywhere = {
    "/": () => { element("search").focus(); element("search").select(); },
    n: () => step(1),
    p: () => step(-1),
    t: () => {
      element("type").value = (Number(element("type").value) + 1) % data.types.length;
      choose();
    },
  };

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return graph.at(event.clientX - box.left, event.clientY - box.top);
  }

  function listen() {
    canvas.addEventListener("mousemove", (event) => {
      const i = place(event);
      graph.hover(i);
      if (i >= 0) tell(i);
    });
    canvas.addEventListener("mouseleave", () => { graph.hover(-1); tell(state.selected); });
    canvas.addEventListener("click", (event) => {
      const i = place(event);
      if (i >= 0) zoom(i);
    });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
      if (!Object.hasOwn(everywhere, event.key)) return;
      event.preventDefault();
      everywhere[event.key]();
    });
    element("search").addEventListener("input", search);
    element("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { element("search").value = ""; search(); canvas.focus(); event.preventDefault(); }
    });
    element("type").addEventListener("change", choose);
    element("width").addEventListener("change", choose);
    element("reset").addEventListener("click", () => { zoom(0); canvas.focus(); });
    element("theme").addEventListener("click", turnTheme);
    element("more").addEventListener("click", () => { shown += PAGE; putRows(); });
    view.addEventListener("scroll", graph.redraw, { passive: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.recolour());
    new ResizeObserver(() => graph.measure()).observe(view);
  }

  putHead();
  putHeads();
  choose();
  listen();
  canvas.focus({ preventScroll: true });
}());
