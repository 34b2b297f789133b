/* The film of a run: what each stack has in use at each point. cli/leaks/leaks_html.c has the format. */

/* The values of a series of changes. */
function expand(series, points) {
  const values = new Float64Array(points);
  let at = 0, value = 0;
  for (let i = 0; i < series.length; i += 2) {
    values.fill(value, at, at + series[i]);
    at += series[i];
    value += series[i + 1];
  }
  return values.fill(value, at);
}

function addTo(sum, values) {
  for (let i = 0; i < sum.length; i++) sum[i] += values[i];
  return sum;
}

function sumOf(list, points) {
  return list.reduce((sum, one) => addTo(sum, one.values), new Float64Array(points));
}

const highest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

function readFilm(run) {
  const { film, report } = run, points = film.points.length;
  let node = 0;
  const stacks = film.stacks.map(([step, row, up, kind, reason, group, made, objects, brief, briefObjects, series]) => {
    node += step;
    return { node, row, up, kind, reason, group, made, objects, brief, briefObjects, values: expand(series, points) };
  });
  const total = sumOf(stacks, points);
  /* The stacks of each finding: a group has several. */
  const findings = report.findings.map((finding, i) => {
    const own = finding.what === "resident" ? -1 : stacks.findIndex((one) => one.row === film.finding[i]);
    const members = finding.group && finding.what !== "stack" ? stacks.filter((one) => one.group === finding.group)
      : own < 0 ? [] : [stacks[own]];
    return { ...finding, own, members, values: sumOf(members, points) };
  });
  const areas = film.areas.map(([name, cause, file, line, series]) =>
    ({ name, cause, file, line, values: expand(series, points) }));
  return {
    points, stacks, total, findings, areas, peak: highest(total), window: film.points.map((point) => point[0]),
    seconds: film.points.map((point) => point[1]),
    /* Pairs as in the data of a flame graph: nodes that have a value, each as its distance from the last. */
    pairsAt(point) {
      const pairs = [];
      let last = 0;
      for (const { node, values } of stacks) {
        if (!values[point]) continue;
        pairs.push(node - last, values[point]);
        last = node;
      }
      return pairs;
    },
  };
}

/* [label, stacks] of each label: the stacks of one line. */
function byLabel(stacks, labelOf) {
  const groups = new Map();
  for (const one of stacks) {
    const label = labelOf(one);
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(one);
  }
  return [...groups];
}

/* What the picture stacks up, from below: the findings, the largest other stacks, all that is left. */
function layersOf(film, labelOf) {
  const MOST = 12, layers = [], taken = new Set();
  for (const [number, finding] of film.findings.entries()) {
    const members = finding.members.filter((one) => !taken.has(one));
    if (!members.length || finding.what === "rest" || layers.length === MOST) continue;
    members.forEach((one) => taken.add(one));
    const label = nameOf(finding) + (finding.place?.line > 0 ? ` ${placeText(finding.place).split("/").at(-1)}` : ""), values = sumOf(members, film.points);
    const same = layers.find((layer) => layer.label === label && layer.kind === finding.kind);
    if (same) {
      addTo(same.values, values);
      same.also.push(number);
    } else layers.push({ label, kind: finding.kind, finding: number, also: [number], values });
  }
  const others = byLabel(film.stacks.filter((one) => !taken.has(one) && one.up >= 0), labelOf)
    .map(([label, list]) => ({ label, kind: "none", finding: -1, values: sumOf(list, film.points) }))
    .map((layer) => ({ layer, most: layer.values[highest(layer.values)] }))
    .sort((a, b) => b.most - a.most).slice(0, MOST - layers.length);
  for (const { layer } of others) layers.push(layer);
  const rest = film.total.slice();
  for (const { values } of layers) values.forEach((value, i) => { rest[i] -= value; });
  layers.push({ label: "all other stacks", kind: "rest", finding: -1, values: rest });
  return layers;
}

/* The parts of the resident memory: the areas of each name. */
function partsOf(film) {
  const names = [...new Set(film.areas.map((area) => area.name))];
  return names.map((name) => ({ label: name, kind: "none", finding: -1,
    values: sumOf(film.areas.filter((area) => area.name === name), film.points) }));
}

/* Moments that the picture marks: the peak, a restart, and where a stack grew in one step, if that is seen: if
 * all stacks together grew by most of it. */
function marksOf(film, report, words, isRestartedLater) {
  const marks = [{ point: film.peak, text: "peak" }], MOST_STEPS = 3, LEAST_SHARE = 0.02;
  if (report.after_restart) marks.push({ point: 0, text: "restart" });
  if (isRestartedLater) marks.push({ point: film.points - 1, text: "restart" });
  const steps = film.stacks.filter((one) => words[one.reason][0] === "step").map(({ values }) => {
    let point = 1;
    for (let i = 2; i < film.points; i++) if (values[i] - values[i - 1] > values[point] - values[point - 1]) point = i;
    return { point, text: "step", size: values[point] - values[point - 1] };
  }).filter(({ point, size }) => size >= LEAST_SHARE * film.total[film.peak] &&
    film.total[point] - film.total[point - 1] >= size / 2).sort((a, b) => b.size - a.size);
  return [...marks, ...steps.slice(0, MOST_STEPS)];
}
