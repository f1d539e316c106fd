// The demonstration of a lesson: its text, plots, drawings and claims in their order.

function barsOf(item) {
  const bars = list(item.bars),
        most = item.full > 0 ? item.full : Math.max(1e-300, ...bars.map((b) => b.value).filter(isNumber));
  return table(
      "bars from 0", ["", "", ""],
      bars.map(
          (b) =>
              [b.label, svg("svg", {width: 240, height: 14, viewBox: "0 0 240 14", "aria-hidden": "true"}, svg("rect", {
                              class: "f1",
                              x: 0,
                              y: 2,
                              width: Math.max(0, Math.min(240, (240 * (b.value ?? 0)) / most)),
                              height: 10
                            })),
               b.text]));
}

// Cells of a heat map, darker for greater values; with `diverging` two colours for the signs. Each has its value as
// text.
function heatOf(item) {
  const rows = list(item.rows), all = rows.flat(), found = rangeOf(all) ?? {low: 0, high: 1};
  const range = widened(item.low < item.high ? {low: item.low, high: item.high} : found);
  const columns = Math.max(1, ...rows.map((row) => row.length)),
        size = Math.max(6, Math.min(28, Math.floor(560 / columns))), left = 90;
  const picture = svg("svg", {
    viewBox: `0 0 ${left + columns * size + 4} ${20 + rows.length * size + 4}`,
    width: left + columns * size + 4,
    role: "img",
    "aria-label": `heat map of ${rows.length} rows and ${columns} columns, values from ${shown(found.low)} to ${
        shown(found.high)}`
  });
  list(item.columns)
      .forEach(
          (name, c) =>
              picture.append(svg("text", {x: left + (c + 0.5) * size, y: 14, "text-anchor": "middle"}, textOf(name))));
  rows.forEach((row, r) => {
    picture.append(
        svg("text", {x: left - 6, y: 20 + (r + 0.7) * size, "text-anchor": "end"}, textOf(list(item.labels)[r])));
    row.forEach((x, c) => {
      if (!isNumber(x)) return;
      const part = (x - range.low) / (range.high - range.low), signed = 2 * part - 1;
      const cell =
          svg("rect", {
            class: item.diverging ? (signed < 0 ? "f2" : "f1") : "f1",
            x: left + c * size,
            y: 20 + r * size,
            width: size - 1,
            height: size - 1
          },
              svg("title", {}, shown(x)));
      cell.setAttribute("fill-opacity", Math.min(1, Math.max(0, item.diverging ? Math.abs(signed) : part)).toFixed(3));
      picture.append(cell);
      const mark = textOf(list(item.marks)[r])[c];
      if (mark && mark !== " ")
        picture.append(svg(
            "text", {class: "strong", x: left + (c + 0.5) * size, y: 20 + (r + 0.7) * size, "text-anchor": "middle"},
            mark));
    });
  });
  return el(
      "figure", {}, el("div", {class: "scroll", tabindex: 0}, picture),
      el("figcaption", {class: "muted"},
         `from ${shown(range.low)} (${item.diverging ? "orange" : "pale"}) to ${shown(range.high)} (${
             item.diverging ? "blue" : "strong"})`));
}

function claimOf(item) {
  return el(
      "p", {},
      item.judged === false ? "measured: " :
      item.pass ? el("strong", {class: "good"}, "✓ claim holds ") : el("strong", {class: "bad"}, "✗ claim FAILS "),
      `${item.name}: ${shown(item.value)}${item.unit ? " " + item.unit : ""} (bar ${item.bound})`);
}

const kItems = {
  heading: (item) => el("h2", {}, item.text),
  text: (item) => el("p", {}, item.text),
  block: (item) => el("pre", {class: "block", tabindex: 0}, item.text),
  claim: claimOf,
  plot: (item) => drawPlot({
    title: item.title || item.yLabel || "plot",
    unit: item.title ? item.yLabel : "",
    about: "",
    xLabel: item.xLabel,
    log: item.log,
    lines: list(item.lines)
  }),
  bars: barsOf,
  heat: heatOf,
  drawing: figureOf,
};

function lessonPage(data) {
  const claims = data.items.filter((item) => item.type === "claim"), failed = claims.filter((item) => !item.pass);
  return [
    el("p", {},
       claims.length === 0 ? "The demonstration makes no claims." :
           failed.length   ? el("span", {class: "bad"},
                                `✗ ${failed.length} of ${plural(claims.length, "claim")} failed`) :
                             el("span", {class: "good"}, `✓ ${plural(claims.length, "claim")}, all hold`),
         ` on this machine; ${shown(data.seconds)} s.`),
      data.items.map((item) => (Object.hasOwn(kItems, item.type) ? kItems[item.type](item) : null))
    ];
}
