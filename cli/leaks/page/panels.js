/* The tables of the report. All texts go in as text, never as HTML. */

function make(name, text = "", kind = "") {
  const one = document.createElement(name);
  one.textContent = text;
  if (kind) one.className = kind;
  return one;
}

/* Fills a table. Columns: [title, kind]; kind is "text", "bar" or "". A cell is a text, an element, or for a
 * bar a share from 0 to 1. */
function fillTable(table, columns, rows) {
  const head = make("tr");
  head.append(...columns.map(([title, kind]) => make("th", title, kind)));
  const lines = rows.map(({ cells, isChosen }) => {
    const line = make("tr", "", isChosen ? "chosen" : "");
    line.append(...cells.map((cell, i) => {
      const [title, kind] = columns[i], place = make("td", typeof cell === "string" ? cell : "", kind);
      place.dataset.title = title;
      if (kind === "bar") {
        place.append(make("span"));
        place.firstChild.style.width = `${(100 * cell).toFixed(1)}%`;
      } else if (typeof cell !== "string") place.append(cell);
      return place;
    }));
    return line;
  });
  const top = make("thead"), body = make("tbody");
  top.append(head);
  body.append(...lines);
  table.replaceChildren(top, body);
}

const secondsText = (seconds) => (seconds ? formatValue(seconds * 1e9, "nanoseconds") : "0s");
const countText = (value) => Math.round(value).toLocaleString("en-US");
const placeText = (frame) => frame.file + (frame.file && frame.line > 0 ? `:${frame.line}` : "");
const isSame = (a, b) => a && b && a.function === b.function && a.file === b.file && a.line === b.line;

/* The slope per hour, or per minute in a run of minutes, as the command prints it. */
function slopeText(perHour, unit, span) {
  return span < 600 ? `${formatChange(perHour / 60, unit)}/min` : `${formatChange(perHour, unit)}/h`;
}

function sureText({ kind, doubt }) {
  if (kind !== "suspect") return "";
  return doubt < 1e-4 ? ">99.99%" : `${(100 * (1 - doubt)).toFixed(2)}%`;
}

const unitOf = (finding, report) => (finding.what === "resident" ? "bytes" : report.unit);

function nameOf(finding) {
  const parts = [finding.what === "resident" ? "resident memory" : "", finding.place?.function];
  return parts.filter(Boolean).join(": ") || "(no stack)";
}

function putFindings(table, film, report, chosen, choose) {
  fillTable(table, [["", "text"], ["Place", "text"], ["Now", ""], ["Slope", ""], ["Sure", ""], ["Why", "text"]],
    film.findings.map((finding, i) => {
      const place = make("div"), button = make("button", nameOf(finding));
      button.type = "button";
      button.onclick = () => choose(i);
      button.ariaPressed = String(i === chosen);
      place.append(button, " ", make("span", finding.place ? placeText(finding.place) : "", "place"));
      const kind = make("span", finding.kind, finding.kind);
      const more = finding.stacks > 1 && finding.what !== "resident" ? `; ${finding.stacks} stacks` : "";
      return { isChosen: i === chosen, cells: [kind, place, formatValue(finding.now, unitOf(finding, report)),
        slopeText(finding.per_hour, unitOf(finding, report), report.span_seconds), sureText(finding),
        finding.why + more] };
    }));
}

/* Leaf first; the frames before the cause are those of libraries and of the allocator. */
function putStack(list, finding, source) {
  const cause = finding.stack.findIndex((frame) => isSame(frame, finding.place));
  list.replaceChildren(...finding.stack.map((frame, i) => {
    const line = make("li", "", i === cause ? "cause" : i < cause ? "library" : "");
    line.append(frame.function, " ", make("span", placeText(frame), "place"));
    const found = source.find(([file, at]) => file === frame.file && at === frame.line);
    if (found && i >= cause) {
      const [, at, first, lines] = found, text = make("pre");
      lines.forEach((one, k) => text.append(make(first + k === at ? "mark" : "span", `${first + k}  ${one}`), "\n"));
      line.append(text);
    }
    return line;
  }));
}

/* By age, in windows: the samples that reached it, and what share of all outlives it (Kaplan and Meier). */
function agesOf({ windows, cohorts }) {
  const ages = cohorts.map((_, age) => ({ age: age * windows, samples: 0, died: 0 }));
  for (const { born, freed } of cohorts) {
    let left = born;
    freed.forEach((died, age) => {
      ages[age].samples += left;
      ages[age].died += died;
      left = Math.max(left - died, 0);
    });
  }
  let alive = 1;
  return ages.filter(({ samples }) => samples > 0).map(({ age, samples, died }) => {
    alive *= 1 - Math.min(died / samples, 1);
    return [age, samples, alive];
  });
}

/* Of what was allocated at the stack, how much outlives an age. */
function putSurvival(table, survival, secondsOfWindow) {
  const rows = survival ? agesOf(survival) : [];
  table.hidden = rows.length === 0;
  fillTable(table, [["Age", ""], ["Alive", ""], ["", "bar"], ["Samples", ""]], rows.map(([age, samples, alive]) => ({
    cells: [age ? `over ${secondsText(age * secondsOfWindow)}` : "over a window", formatShare(alive, 1), alive, countText(samples)] })));
}

/* Lines of which most was freed in the window in which it was allocated. Returns whether there are any. */
function putBrief(table, stacks, labelOf) {
  const MOST = 15, rows = byLabel(stacks.filter((one) => one.brief > 0), labelOf).map(([label, list]) =>
    list.reduce((sum, one) => ({ label, brief: sum.brief + one.brief, made: sum.made + one.made,
                                 briefObjects: sum.briefObjects + one.briefObjects }), { brief: 0, made: 0, briefObjects: 0 }))
    .sort((a, b) => b.brief - a.brief).slice(0, MOST);
  fillTable(table, [["Place", "text"], ["Freed at once", ""], ["Of all", ""], ["", "bar"], ["Objects", ""]],
    rows.map((one) => ({ cells: [one.label, formatValue(one.brief, "bytes"), formatShare(one.brief, one.made),
                                 Math.min(one.brief / one.made, 1), countText(one.briefObjects)] })));
  return rows.length > 0;
}

function putAreas(table, film, from, to) {
  const rows = film.areas.filter(({ values }) => values.some((value) => value > 0))
    .sort((a, b) => b.values[to] - a.values[to]);
  const cells = ({ name, cause, file, line, values }) => {
    const place = make("span", cause);
    place.append(" ", make("span", placeText({ file, line }), "place"));
    return [name, place, formatValue(values[from], "bytes"), formatValue(values[to], "bytes"),
            formatChange(values[to] - values[from], "bytes"), formatValue(values[highest(values)], "bytes")];
  };
  const whole = { name: "all", cause: "", file: "", line: 0, values: sumOf(film.areas, film.points) };
  fillTable(table, [["Area", "text"], ["Of", "text"], ["From", ""], ["To", ""], ["Change", ""], ["Peak", ""]],
    [...rows, whole].map((row) => ({ cells: cells(row) })));
}

/* Allocations by the mean size of those of their stack: powers of two. Returns whether there are any. */
function putSizes(table, stacks) {
  const sums = new Map();
  for (const { made, objects, up } of stacks.filter((one) => one.objects > 0)) {
    const log = up < 0 ? Infinity : Math.floor(Math.log2(Math.max(made / objects, 1)));
    const sum = sums.get(log) ?? { made: 0, objects: 0 };
    sums.set(log, { made: sum.made + made, objects: sum.objects + objects });
  }
  const rows = [...sums].sort((a, b) => a[0] - b[0]), most = Math.max(...rows.map(([, { made }]) => made), 1);
  const rangeOf = (log) => (log === Infinity ? "other stacks" : `${formatValue(2 ** log, "bytes")} to ${formatValue(2 ** (log + 1), "bytes")}`);
  fillTable(table, [["Size", ""], ["Allocated", ""], ["", "bar"], ["Objects", ""]], rows.map(([log, { made, objects }]) => ({
    cells: [rangeOf(log), formatValue(made, "bytes"), made / most, countText(objects)] })));
  return rows.length > 0;
}
