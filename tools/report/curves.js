// Line plots with bands. A plot is {title, unit, about, xLabel, log, lines: [{name, x, mean, low, high, runs}]}; lines
// differ in dashes as well as in colour. Each plot has its numbers as a table.

// Fewer units across on a phone, so that the text stays large enough to read.
const kWidth = window.innerWidth < 600 ? 350 : 520, kHeight = 250, kLeft = 58, kRight = 20, kTop = 10, kBottom = 42;
const kColors = 6;
const styleOf = (i) => `c${(i % kColors) + 1} d${(i % kColors) + 1}`;
const fillOf = (i) => `f${(i % kColors) + 1}`;

// Lines between the points that are numbers, as an SVG path.
function pathOf(xs, ys, px, py, good) {
  let path = "", pen = false;
  for (let i = 0; i < ys.length; ++i) {
    if (!good(ys[i])) {
      pen = false;
      continue;
    }
    path += `${pen ? "L" : "M"}${px(xs[i]).toFixed(1)} ${py(ys[i]).toFixed(1)}`;
    pen = true;
  }
  return path;
}

function bandPath(line, px, py, good) {
  const at = line.x.map((_, i) => i).filter((i) => good(line.low[i]) && good(line.high[i]));
  if (at.length < 2) return "";
  const there = at.map((i) => `${px(line.x[i]).toFixed(1)} ${py(line.high[i]).toFixed(1)}`);
  const back = at.reverse().map((i) => `${px(line.x[i]).toFixed(1)} ${py(line.low[i]).toFixed(1)}`);
  return `M${there.join("L")}L${back.join("L")}Z`;
}

function axes(canvas, xs, ys, px, py, plot) {
  const right = kWidth - kRight, bottom = kHeight - kBottom;
  const yTicks = plot.log ? logTicks(ys) : ticks(ys, 5);
  for (const y of yTicks) {
    canvas.append(
        svg("path", {class: "grid", d: `M${kLeft} ${py(y)}H${right}`}),
        svg("text", {x: kLeft - 6, y: py(y) + 4, "text-anchor": "end"}, shortTick(y)));
  }
  for (const x of ticks(xs, kWidth / 90, plot.xLabel === "step")) {
    canvas.append(
        svg("path", {class: "axis", d: `M${px(x)} ${bottom}v5`}),
        svg("text", {x: px(x), y: bottom + 18, "text-anchor": "middle"}, shortTick(x)));
  }
  canvas.append(
      svg("path", {class: "axis", d: `M${kLeft} ${kTop}V${bottom}H${right}`}),
      svg("text", {x: (kLeft + right) / 2, y: kHeight - 6, "text-anchor": "middle"}, plot.xLabel));
}

// Powers of ten, at most eight of them.
function logTicks(range) {
  const from = Math.ceil(Math.log10(range.low) - 1e-9), to = Math.floor(Math.log10(range.high) + 1e-9);
  const by = Math.max(1, Math.ceil((to - from) / 7)), all = [];
  for (let e = to; e >= from; e -= by) all.push(10 ** e);
  return all.length >= 2 ? all : ticks(range, 4).filter((x) => x > 0);
}

function legend(lines) {
  const mark = (i) =>
      svg("svg", {width: 34, height: 10, "aria-hidden": "true"},
          svg("path", {class: `series ${styleOf(i)}`, d: "M1 5H33"}));
  return el("ul", {class: "legend"}, lines.map((line, i) => {
    const last = line.mean.findLast(isNumber);
    return el("li", {}, mark(i), `${line.name}${last === undefined ? "" : `: last ${shown(last)}`}`);
  }));
}

function numbersOf(plot) {
  const rows = [];
  for (const line of plot.lines) {
    line.x.forEach((x, i) => rows.push([
      line.name, shown(x), shown(line.mean[i]), line.low ? shown(line.low[i]) : "",
      line.high ? shown(line.high[i]) : "", line.runs ? line.runs[i] : ""
    ]));
  }
  const kept = rows.length > 1200 ? rows.filter((_, i) => i % Math.ceil(rows.length / 1200) === 0) : rows;
  const caption = kept.length < rows.length ? `${plot.title}: ${kept.length} of ${rows.length} points` : plot.title;
  return table(caption, ["line", plot.xLabel, "mean", "least", "greatest", "runs"], kept, (i) => i > 0);
}

// The values under the pointer, below the plot.
function followPointer(canvas, plot, px, readout) {
  const cursor = svg("path", {class: "axis", d: ""});
  canvas.append(cursor);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const at = (event.clientX - box.left) * (kWidth / box.width);
    const parts = [];
    let place = null, nearest = null;
    for (const line of plot.lines) {
      let best = 0;
      for (let i = 1; i < line.x.length; ++i) {
        if (Math.abs(px(line.x[i]) - at) < Math.abs(px(line.x[best]) - at)) best = i;
      }
      if (!line.x.length) continue;
      place = px(line.x[best]);
      nearest = line.x[best];
      parts.push(
          `${plot.lines.length > 1 ? line.name + " " : ""}${shown(line.mean[best])}` +
          (line.low ? ` (${shown(line.low[best])} to ${shown(line.high[best])})` : ""));
    }
    if (place === null) return;
    cursor.setAttribute("d", `M${place} ${kTop}V${kHeight - kBottom}`);
    readout.textContent = `${plot.xLabel} ${shown(nearest)}: ${parts.join("; ")}`;
  });
}

function drawPlot(plot) {
  const good = (y) => isNumber(y) && (!plot.log || y > 0);
  const xRange = rangeOf(plot.lines.flatMap((line) => line.x));
  const yRange =
      rangeOf(plot.lines.flatMap((line) => [...line.mean, ...list(line.low), ...list(line.high)]).filter(good));
  const title = [
    el("strong", {}, plot.title),
    plot.unit ? ` (${plot.unit}${plot.log ? ", logarithmic" : ""})` :
        plot.log ? " (logarithmic)" :
                   "",
    plot.about ? el("span", {class: "muted"}, ` ${plot.about}`) : null
  ];
  if (!xRange || !yRange) return el("figure", {}, el("figcaption", {}, title, ": no value is a number"));
  const xs = widened(xRange), ys = widened(yRange);
  const px = scale(xs, kLeft, kWidth - kRight), py = scale(ys, kHeight - kBottom, kTop, plot.log);
  const canvas = svg("svg", {
    viewBox: `0 0 ${kWidth} ${kHeight}`,
    role: "img",
    width: "100%",
    "aria-label":
        `${plot.title}: ${plot.lines.map((l) => `${l.name} last ${shown(l.mean.findLast(isNumber))}`).join(", ")}`
  });
  axes(canvas, xs, ys, px, py, plot);
  plot.lines.forEach((line, i) => {
    if (line.low && line.high)
      canvas.append(svg("path", {class: `band ${fillOf(i)}`, d: bandPath(line, px, py, good)}));
  });
  plot.lines.forEach((line, i) => {
    canvas.append(svg("path", {class: `series ${styleOf(i)}`, d: pathOf(line.x, line.mean, px, py, good)}));
    if (line.mean.filter(good).length === 1) {
      const at = line.mean.findIndex(good);
      canvas.append(svg("circle", {class: fillOf(i), cx: px(line.x[at]), cy: py(line.mean[at]), r: 4}));
    }
  });
  const readout = el("div", {class: "muted", "aria-hidden": "true"}, "\u00a0");
  followPointer(canvas, plot, px, readout);
  return el(
      "figure", {}, el("figcaption", {}, title), canvas, readout, legend(plot.lines),
      later("Numbers", () => numbersOf(plot)));
}

function plotOf(data, curve) {
  const lines = curve.lines.map((line) => ({...line, name: data.groups[line.group].name}));
  const kinds = new Set(curve.lines.map((line) => data.sources[data.groups[line.group].sources[0]].kind));
  const xLabel = kinds.size === 1 ? kStepNames[[...kinds][0]] ?? "step" : "step";
  return {...metricTitle(curve.name), xLabel, lines};
}

function curvesSection(data) {
  if (data.sources.every((source) => source.kind === "eval")) return null;
  if (!data.curves.length) return section("curves", "Curves", el("p", {}, "There are no metrics."));
  const by = new Map(data.curves.map((curve) => [curve.name, curve]));
  const {first, rest} = metricOrder([...by.keys()]);
  const plots = (names) => el("div", {class: "plots"}, names.map((name) => drawPlot(plotOf(data, by.get(name)))));
  const thinned = data.curves.some((curve) => curve.lines.some((line) => line.steps_per_point));
  const seeds = data.groups.some((group) => group.sources.length > 1);
  return section(
      "curves", "Curves",
      el("p", {class: "muted"},
         seeds ?
             "Runs that differ in their seed only are one line, their mean; the band goes from the least to the greatest. " :
             "",
         thinned ?
             "A long curve has 600 points at most: each is the mean of neighbouring steps, and the band has their extremes." :
             ""),
      plots(first.length ? first : rest.slice(0, 6)),
      first.length && rest.length ? later(`${plural(rest.length, "other metric")}`, () => plots(rest)) : null);
}
