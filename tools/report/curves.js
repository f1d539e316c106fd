// Line plots with bands. A plot is {title, unit, about, xLabel, log, smooth, shared, lines}, a line {name, x, mean, low,
// high, runs}. Lines differ in dashes as well as in colour. Each plot has its numbers as a table.

// Fewer units across on a phone, so that the text stays large enough to read.
const kWidth = window.innerWidth < 600 ? 350 : 520, kHeight = 250, kLeft = 58, kRight = 20, kTop = 14, kBottom = 42;
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

// The mean of each point and its neighbours, a thirtieth of the line. Short lines stay as they are.
function smoothed(ys) {
  const half = Math.floor(ys.length / 60);
  if (half < 1) return ys;
  return ys.map((y, i) => {
    if (!isNumber(y)) return y;
    const near = ys.slice(Math.max(0, i - half), i + half + 1).filter(isNumber);
    return near.reduce((sum, x) => sum + x / near.length, 0);
  });
}

// The range of the axis: shares begin at 0, and those that are not all small end at 1, so that a small change looks
// small.
function axisOf(plot, range) {
  if (plot.log) return widened(range);
  if (plot.unit === "share" && range.low >= 0 && range.high <= 1) {
    return {low: 0, high: range.high >= 0.2 ? 1 : range.high > 0 ? rounded({low: 0, high: range.high}, 5).high : 1};
  }
  return rounded(widened(range), 5);
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
  const texts = tickTexts(yTicks);
  for (const [i, y] of yTicks.entries()) {
    canvas.append(
        svg("path", {class: "grid", d: `M${kLeft} ${py(y)}H${right}`}),
        svg("text", {x: kLeft - 6, y: py(y) + 4, "text-anchor": "end"}, texts[i]));
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

// The lines' marks beside `texts`, an element for each.
function legend(lines, texts) {
  const mark = (i) =>
      svg("svg", {width: 34, height: 10, "aria-hidden": "true"},
          svg("path", {class: `series ${styleOf(i)}`, d: "M1 5H33"}));
  return el("ul", {class: "legend"}, lines.map((line, i) => el("li", {}, mark(i), texts[i])));
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
  if (!xRange || !yRange) return el("figure", {}, el("figcaption", {}, title, ": no value here is a number"));
  const xs = widened(xRange), ys = axisOf(plot, yRange);
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
    const ys = plot.smooth ? smoothed(line.mean) : line.mean;
    if (ys !== line.mean && !line.low)
      canvas.append(svg("path", {class: `raw c${(i % kColors) + 1}`, d: pathOf(line.x, line.mean, px, py, good)}));
    canvas.append(svg("path", {class: `series ${styleOf(i)}`, d: pathOf(line.x, ys, px, py, good)}));
    if (line.mean.filter(good).length === 1) {
      const at = line.mean.findIndex(good);
      canvas.append(svg("circle", {class: fillOf(i), cx: px(line.x[at]), cy: py(line.mean[at]), r: 4}));
    }
  });
  const texts = plot.lines.map((line) => el("span", {}, lastText(line)));
  followPointer(canvas, plot, xs, px, texts);
  return el(
      "figure", {}, el("figcaption", {}, title), canvas, legend(plot.lines, texts),
      later("Numbers", () => numbersOf(plot)));
}

// The intervals of NAME are in the metrics NAME_low and NAME_high.
const isInterval = (name, by) => /_(low|high)$/.test(name) && by.has(name.replace(/_(low|high)$/, ""));

// A line with the interval of each of its points; lines that already have a band stay as they are.
function withInterval(line, name, by) {
  if (line.low) return line;
  const values = (end) => {
    const other = by.get(name + end)?.lines.find((l) => l.group === line.group);
    return other && new Map(other.x.map((x, i) => [x, other.mean[i]]));
  };
  const low = values("_low"), high = values("_high");
  if (!low || !high) return line;
  return {...line, low: line.x.map((x) => low.get(x) ?? null), high: line.x.map((x) => high.get(x) ?? null)};
}

// The points of a line whose x is in a range.
function within(line, range) {
  const at = line.x.map((_, i) => i).filter((i) => line.x[i] >= range.low && line.x[i] <= range.high);
  const part = {...line};
  for (const name of ["x", "mean", "low", "high", "runs"]) {
    if (line[name]) part[name] = at.map((i) => line[name][i]);
  }
  return part;
}

// The plot of a curve; `view`: {smooth, log, time, range}.
function plotOf(data, curve, by, view) {
  const lines = curve.lines.map((line) => {
    let drawn = {...withInterval(line, curve.name, by), name: data.groups[line.group].name};
    if (view.time) drawn = {...drawn, x: line.x.map(clockOf(data, line.group))};
    return view.range ? within(drawn, view.range) : drawn;
  });
  const kinds = new Set(curve.lines.map((line) => data.sources[data.groups[line.group].sources[0]].kind));
  const steps = kinds.size === 1 ? kStepNames[[...kinds][0]] ?? "step" : "step";
  const xLabel = view.time ? "seconds of rollouts and updates" : steps;
  const positive = curve.lines.every((line) => line.mean.every((y) => !isNumber(y) || y > 0));
  const title = metricTitle(curve.name);
  const interval = lines.some((line, i) => line.low && !curve.lines[i].low);
  if (interval) title.about = [title.about, "the band is the 95 % interval"].filter(Boolean).join("; ");
  return {...title, xLabel, lines, smooth: view.smooth, log: view.log && positive, shared: view.shared};
}

function curvesSection(data) {
  if (data.sources.every((source) => source.kind === "eval")) return null;
  if (!data.curves.length) return section("curves", "Curves", el("p", {}, "There are no metrics."));
  const by = new Map(data.curves.map((curve) => [curve.name, curve]));
  const {first, rest} = metricOrder([...by.keys()].filter((name) => !isInterval(name, by)));
  const view = {smooth: true, log: false, time: false, range: null}, drawn = el("div", {});
  const plots =
      (names) => el("div", {class: "plots"}, names.map((name) => drawPlot(plotOf(data, by.get(name), by, view))));
  const whole = el("button", {type: "button", onclick: () => choose(null)}, "whole range");
  const draw = () => {
    view.shared = {legends: [], choose};
    whole.hidden = !view.range;
    replace(
        drawn, plots(first.length ? first : rest.slice(0, 6)),
        first.length && rest.length ? later(`${plural(rest.length, "other metric")}`, () => plots(rest)) : null);
  };
  function choose(range) {
    view.range = range;
    draw();
  }
  const toggle = (name, text) => el("button", {
    type: "button",
    "aria-pressed": String(view[name]),
    onclick: (event) => {
      view[name] = !view[name];
      if (name === "time") view.range = null;
      event.currentTarget.setAttribute("aria-pressed", String(view[name]));
      draw();
    }
  },
                                    text);
  draw();
  const thinned = data.curves.some((curve) => curve.lines.some((line) => line.steps_per_point));
  const seeds = data.groups.some((group) => group.sources.length > 1);
  const timed = data.curves.every((curve) => curve.lines.every((line) => clockOf(data, line.group)));
  return section(
      "curves", "Curves",
      el("p", {class: "muted"},
         seeds ?
             "Runs that differ in their seed only are one line, their mean; the band goes from the least to the greatest. " :
             "",
         thinned ?
             "A long curve has 600 points at most: each is the mean of neighbouring steps, and the band has their extremes." :
             "",
         " Dragging over a plot with the mouse shows a part of all of them."),
      el("div", {class: "row"}, toggle("smooth", "smooth long curves"), toggle("log", "logarithmic"),
         timed ? toggle("time", "by time") : null, whole),
      drawn);
}
