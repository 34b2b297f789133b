/* The report of `leaks --html`: its part of the page's state (run, from, to, finding), and what it shows. */

function makeReport(whole, number) {
  const run = whole.runs[number], { report } = run, film = readFilm(run), last = film.points - 1;
  const isPoint = (text) => /^\d{1,4}$/.test(text) && Number(text) <= last;
  const type = { type: report.type, unit: report.unit, self: film.pairsAt(last), before: film.pairsAt(0) };
  const canvases = {};
  let page = null, layers = null, found = null, marks = null, parts = null, shown = null;

  const timeText = (point) => `window ${film.window[point] + 1}, +${secondsText(film.seconds[point])}`;

  /* The frame that is the cause of a stack, as the tree of the page has it. */
  function labelOf(stack) {
    let node = stack.node;
    for (let up = stack.up; up > 0; up--) node = page.base.parent[node];
    const name = node > 0 ? run.names[page.base.name[node]] : "(no stack)", file = page.base.file[node];
    return file < 0 || !page.base.line[node] ? name : `${name} ${run.files[file].split("/").at(-1)}:${page.base.line[node]}`;
  }

  function facts() {
    const parts = [report.binary, `${report.windows} windows in ${secondsText(report.span_seconds)}`,
      `from ${formatTimes(report.from)}`, report.after_restart ? "after a restart" : "",
      `${formatValue(report.now, report.unit)} in use (${report.type}) in ${report.stacks.toLocaleString("en-US")} stacks`,
      `${slopeText(report.per_hour, report.unit, report.span_seconds)}`];
    return parts.filter(Boolean).join(", ");
  }

  function notes() {
    const list = [["verdict", report.is_enough || report.suspects ? `${report.suspects} suspect${report.suspects === 1 ? "" : "s"}, ${report.unknown} unknown` :
      `unknown: ${report.doubt ?? `${report.windows} windows are too few`}`]];
    if (report.left_out) list.push(["end", `the last ${report.left_out} windows are left out: the program ends in them`]);
    if (report.smallest_leak !== null)
      list.push(["power", `a leak of ${formatValue(Math.round(report.smallest_leak), report.unit)} in this run would be a suspect 8 times of 10`]);
    if (film.points < report.windows)
      list.push(["windows", `${film.points} of ${report.windows} are in this page: of each part the one with most in use, and the last`]);
    if (run.film.grain)
      list.push(["stacks", `${run.film.others.toLocaleString("en-US")} small stacks are one in this page, (other stacks); ` +
        `it has also what the values of the others leave out: up to ${formatValue(Math.ceil(run.film.grain), report.unit)}`]);
    if (whole.leftOut) list.push(["runs", `${whole.leftOut} are left out of this page`]);
    return list;
  }

  const data = { ...run, title: `${(report.binary || "heap").split("/").at(-1)}: leaks`, facts: facts(), notes: notes(),
                 profiles: [{ file: "from" }, { file: "to" }], types: [type], chosen: 0 };

  /* ---- what is shown ---- */

  function putPictures() {
    const moment = { seconds: film.seconds, from: shown.from, to: shown.to };
    canvases.film.show({ ...moment, layers: shown.only ? found : layers, marks, unit: report.unit, finding: shown.finding });
    if (parts.length) canvases.areas.show({ ...moment, layers: parts, marks: [], unit: "bytes", finding: -1 });
  }

  function putLegend(list, all) {
    const style = getComputedStyle(document.documentElement);
    list.replaceChildren(...all.map((layer, i) => {
      const line = make("li", "", layer.kind === "suspect" ? "suspect" : ""), swatch = make("span", "", "swatch");
      swatch.style.background = colourOf(layer, i, style);
      line.append(swatch, (layer.kind === "suspect" || layer.kind === "unknown" ? `${layer.kind}: ` : "") + layer.label);
      return line;
    }));
  }

  function putLegends() {
    putLegend(element("film-legend"), layers);
    if (parts.length) putLegend(element("areas-legend"), parts);
  }

  function putFinding() {
    const finding = film.findings[shown.finding];
    element("finding").hidden = !finding;
    if (!finding) return;
    element("finding-title").textContent = `${finding.kind} ${shown.finding + 1}: ${nameOf(finding)}`;
    element("finding-facts").textContent = [`${formatValue(finding.now, unitOf(finding, report))} now`,
      finding.objects >= 1 ? `${Math.round(finding.objects).toLocaleString("en-US")} objects` : "",
      slopeText(finding.per_hour, unitOf(finding, report), report.span_seconds),
      finding.age_seconds === null ? "" : `age ${secondsText(finding.age_seconds)}`,
      finding.stacks > 1 && finding.what !== "resident" ? `${finding.stacks} stacks, the largest:` : ""].filter(Boolean).join(", ");
    putStack(element("stack"), finding, run.film.source);
    putSurvival(element("survival"), finding.survival, report.span_seconds / Math.max(report.windows - 1, 1));
  }

  function show(next) {
    const before = shown;
    shown = next;
    const isMoved = !before || before.from !== shown.from || before.to !== shown.to;
    const isChosen = !before || before.finding !== shown.finding;
    if (isMoved || isChosen || before.only !== shown.only) putPictures();
    if (!before) putLegends();
    element("only").checked = shown.only;
    if (isChosen) {
      putFindings(element("findings"), film, report, shown.finding, chooseFinding);
      putFinding();
    }
    if (!isMoved) return;
    element("from").value = shown.from;
    element("to").value = shown.to;
    element("film-detail").textContent = `${timeText(shown.from)}: ${formatValue(film.total[shown.from], report.unit)} \u2192 ` +
      `${timeText(shown.to)}: ${formatValue(film.total[shown.to], report.unit)}`;
    if (parts.length) putAreas(element("areas-table"), film, shown.from, shown.to);
  }

  /* ---- choosing ---- */

  const clamp = (point) => Math.min(Math.max(point, 0), last);
  const move = (key, step) => page.change({ [key]: clamp(shown[key] + step) }, false);
  const toPeak = () => page.change({ to: film.peak });
  const turnOnly = () => page.go({ only: !shown.only && found.length > 0 });

  function chooseFinding(i) {
    if (i >= 0 && i < film.findings.length) page.go({ finding: i });
  }

  function listen() {
    const canvas = element("film");
    canvas.addEventListener("click", (event) => {
      const { point, layer } = canvases.film.at(event.offsetX, event.offsetY);
      const finding = layer >= 0 && layers[layer].finding >= 0 ? layers[layer].finding : shown.finding;
      page.change(event.shiftKey ? { from: point } : { to: point, finding });
    });
    canvas.addEventListener("mousemove", (event) => {
      const { point, layer } = canvases.film.at(event.offsetX, event.offsetY);
      const texts = layer < 0 ? [] : [layers[layer].label, formatValue(layers[layer].values[point], report.unit)];
      page.putTip([timeText(point), ...texts, `all: ${formatValue(film.total[point], report.unit)}`], event.clientX, event.clientY);
    });
    canvas.addEventListener("mouseleave", page.hideTip);
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -last, End: last }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(event.shiftKey ? "from" : "to", step);
    });
    for (const key of ["from", "to"]) element(key).addEventListener("change", () => page.change({ [key]: Number(element(key).value) }));
    element("to-peak").addEventListener("click", toPeak);
    element("only").addEventListener("change", turnOnly);
    element("run").addEventListener("change", () => { location.hash = `#run=${element("run").value}`; location.reload(); });
  }

  function start(parent) {
    page = parent;
    const next = whole.runs.find((one) => one.report.after_restart && one.report.binary === report.binary &&
      one.report.from_nanos > report.to_nanos);
    layers = layersOf(film, labelOf);
    found = layers.filter((layer) => layer.finding >= 0);
    marks = marksOf(film, report, whole.reasons, next !== undefined);
    parts = partsOf(film);
    for (const key of ["from", "to"]) for (let i = 0; i <= last; i++) element(key).append(new Option(timeText(i), i));
    whole.runs.forEach((one, i) => element("run").append(new Option(`${i + 1}: ${one.report.binary.split("/").at(-1)}, ${one.report.from}`, i)));
    element("run").value = number;
    element("only-label").hidden = found.length === 0;
    element("run-label").hidden = whole.runs.length < 2;
    for (const id of ["film", "areas"]) canvases[id] = makeAreas(element(id));
    element("resident").hidden = parts.length === 0;
    element("temporary-section").hidden = report.unit !== "bytes" || !putBrief(element("temporary"), film.stacks, labelOf);
    element("sizes-section").hidden = report.unit !== "bytes" || !putSizes(element("sizes"), film.stacks);
    for (const [key, text] of [["m", "the window of the peak"], ["f", "only what is found in the picture, or all"], ["[  ]", "the window before and after"], ["s  S", "the next and the previous finding"]])
      element("help").querySelector("dl").append(make("dt", key), make("dd", text));
    listen();
  }

  return {
    data, start, show,
    first: { run: 0, from: 0, to: last, finding: 0, only: false, width: "now" },
    choices: ["from", "to"],
    allowed: {
      run: (text) => (text === String(number) ? number : undefined),
      from: (text) => (isPoint(text) ? Number(text) : undefined),
      to: (text) => (isPoint(text) ? Number(text) : undefined),
      only: (text) => text === "true" && found.length > 0,
      finding: (text) => (/^\d{1,6}$/.test(text) && Number(text) < film.findings.length ? Number(text) : undefined),
    },
    /* Sets the values of the graph: those of the two windows. */
    choose(state) {
      type.before = film.pairsAt(state.from);
      type.self = film.pairsAt(state.to);
    },
    recolour() {
      for (const canvas of Object.values(canvases)) canvas.draw();
      putLegends();
    },
    keys: {
      m: toPeak,
      f: turnOnly,
      "[": () => move("to", -1),
      "]": () => move("to", 1),
      s: () => chooseFinding(shown.finding + 1),
      S: () => chooseFinding(shown.finding - 1),
    },
  };
}

/* The JSON of a text: see cli/leaks/leaks_html.c. */
function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

(async function begin() {
  document.body.dataset.moves = true;
  const whole = await unpack(JSON.parse(element("data").textContent));
  const asked = Number(new URLSearchParams(location.hash.slice(1)).get("run"));
  const report = makeReport(whole, Object.hasOwn(whole.runs, asked) ? asked : 0);
  makePage(report.data, report);
  document.body.dataset.moves = false;
}()).catch((error) => { element("facts").textContent = `This browser cannot read the page: ${error}`; });
