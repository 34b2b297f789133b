/* Layers of values over time, one above the other, on a canvas. canvas.dataset has the work of the last
 * picture: points drawn. */

const AXIS = 64, FOOT = 20, HEAD = 16; /* pixels for the labels */

function colourOf(layer, number, style) {
  const value = (name) => style.getPropertyValue(name).trim();
  if (layer.kind === "rest") return value("--other");
  const hue = layer.kind === "suspect" ? 4 + 14 * (number % 3) : layer.kind === "unknown" ? 48 : 150 + (number * 47) % 170;
  const chroma = layer.kind === "none" ? "32%" : "78%";
  return `hsl(${hue}, ${chroma}, ${value("--lightness")})`;
}

/* Values of an axis: about `count` round ones up to the largest; bytes are round in powers of two. */
function ticksOf(most, unit, count) {
  const base = unit === "bytes" ? 2 : 10;
  let step = base ** Math.floor(Math.log(most / count) / Math.log(base));
  while (most / step > 2 * count) step *= 2;
  const ticks = [];
  for (let at = 0; at <= most; at += step) ticks.push(at);
  return ticks;
}

function makeAreas(canvas) {
  /* The layers are drawn once, on a canvas of their own: only the marks and the outline move. */
  const behind = document.createElement("canvas"), back = behind.getContext("2d"), front = canvas.getContext("2d");
  let context = back, scene = null, width = 0, height = 0, most = 1, ink = [];
  const span = () => scene.seconds.at(-1) - scene.seconds[0] || 1;
  const xOf = (i) => AXIS + (scene.seconds[i] - scene.seconds[0]) / span() * (width - AXIS - 12);
  const yOf = (value) => HEAD + (1 - value / most) * (height - FOOT - HEAD);

  function putAxes(style) {
    context.fillStyle = style.getPropertyValue("--quiet");
    context.strokeStyle = style.getPropertyValue("--edge");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (const value of ticksOf(most, scene.unit, 4)) {
      context.fillText(formatValue(value, scene.unit), AXIS - 6, yOf(value));
      context.beginPath();
      context.moveTo(AXIS, Math.round(yOf(value)) + 0.5);
      context.lineTo(width - 12, Math.round(yOf(value)) + 0.5);
      context.stroke();
    }
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      context.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
      context.fillText(secondsText(share * span()), AXIS + share * (width - AXIS - 12), height - FOOT / 2);
    }
  }

  /* The path around a layer. */
  function trace(number) {
    const points = scene.seconds.length, below = sumOf(scene.layers.slice(0, number), points);
    context.beginPath();
    for (let i = 0; i < points; i++) context.lineTo(xOf(i), yOf(below[i]));
    for (let i = points - 1; i >= 0; i--) context.lineTo(xOf(i), yOf(below[i] + scene.layers[number].values[i]));
    context.closePath();
  }

  function putLayers(style) {
    scene.layers.forEach((layer, number) => {
      trace(number);
      context.fillStyle = colourOf(layer, number, style);
      context.fill();
    });
    canvas.dataset.drawn = 2 * scene.seconds.length * scene.layers.length;
  }

  function putMark(point, text, colour, dash) {
    const x = Math.round(xOf(point)) + 0.5;
    context.strokeStyle = context.fillStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, HEAD - 2);
    context.lineTo(x, height - FOOT);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = x > width - 60 ? "right" : x < AXIS + 40 ? "left" : "center";
    context.fillText(text, x, HEAD / 2);
  }

  function begin(to) {
    const size = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    context = to;
    if (to.canvas.width !== size[0]) [to.canvas.width] = size;
    if (to.canvas.height !== size[1]) [, to.canvas.height] = size;
    to.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    to.clearRect(0, 0, width, height);
    to.font = "11px system-ui, sans-serif";
    to.textBaseline = "middle";
  }

  function drawLayers() {
    const style = getComputedStyle(document.documentElement);
    begin(back);
    most = Math.max(1, ...sumOf(scene.layers, scene.seconds.length));
    putAxes(style);
    putLayers(style);
    context.lineWidth = 1;
    for (const { point, text } of scene.marks) putMark(point, text, style.getPropertyValue("--quiet").trim(), [3, 3]);
    ink = ["--shrinkage", "--focus", "--text"].map((name) => style.getPropertyValue(name).trim());
  }

  function drawMarks() {
    begin(front);
    if (behind.width && behind.height) front.drawImage(behind, 0, 0, width, height);
    const chosen = scene.layers.findIndex((layer) => layer.finding >= 0 && layer.also.includes(scene.finding));
    if (chosen >= 0) {
      trace(chosen);
      front.strokeStyle = ink[2];
      front.lineWidth = 1.5;
      front.stroke();
    }
    front.lineWidth = 2;
    putMark(scene.from, "", ink[0], [6, 3]);
    putMark(scene.to, "", ink[1], []);
  }

  function draw() {
    if (!scene) return;
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    drawLayers();
    drawMarks();
  }

  new ResizeObserver(draw).observe(canvas);
  return {
    draw,
    /* layers, seconds, unit, marks, from, to, finding */
    show(next) {
      const isSame = scene && scene.layers === next.layers;
      scene = next;
      if (isSame) drawMarks();
      else draw();
    },
    /* The point that is nearest to x, and the layer there, or -1. */
    at(x, y) {
      let point = 0, sum = 0;
      for (let i = 1; i < scene.seconds.length; i++) if (Math.abs(xOf(i) - x) < Math.abs(xOf(point) - x)) point = i;
      const layer = scene.layers.findIndex((one) => {
        const from = yOf(sum);
        sum += Math.max(one.values[point], 0);
        return y <= from && y > yOf(sum);
      });
      return { point, layer };
    },
  };
}
