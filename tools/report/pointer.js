// The pointer over plots with the same axis: the values at its place stand in the legends of all of them, and dragging
// chooses a range.

const lastText = (line) => {
  const last = line.mean.findLast(isNumber);
  return `${line.name}${last === undefined ? "" : `: last ${shown(last)}`}`;
};

// The index of the point of a line that is nearest to x; -1 without points.
const nearest = (line, x) =>
    line.x.reduce((best, at, i) => (best < 0 || Math.abs(at - x) < Math.abs(line.x[best] - x) ? i : best), -1);

// The values at x in the texts of the legend, and a line there; `show(null)`: the last values.
function legendAt(canvas, plot, px, texts) {
  const cursor = svg("path", {class: "axis", d: ""});
  canvas.append(cursor);
  return (x) => {
    let place = null;
    plot.lines.forEach((line, k) => {
      const i = x === null ? -1 : nearest(line, x);
      if (i < 0) return replace(texts[k], lastText(line));
      place = px(line.x[i]);
      const band = line.low ? ` (${shown(line.low[i])} to ${shown(line.high[i])})` : "";
      replace(texts[k], `${line.name}: ${shown(line.mean[i])}${band} at ${shown(line.x[i])}`);
    });
    cursor.setAttribute("d", place === null ? "" : `M${place} ${kTop}V${kHeight - kBottom}`);
  };
}

// `plot.shared`: {legends, choose} of the plots with the same axis; choose({low, high}) draws them in a range.
function followPointer(canvas, plot, xs, px, texts) {
  const shared = plot.shared ?? {legends: []};
  shared.legends.push(legendAt(canvas, plot, px, texts));
  const chosen = svg("path", {class: "chosen", d: ""});
  canvas.append(chosen);
  const valueAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const share = ((event.clientX - box.left) * (kWidth / box.width) - kLeft) / (kWidth - kRight - kLeft);
    return xs.low + Math.min(1, Math.max(0, share)) * (xs.high - xs.low);
  };
  let from = null;
  const end = () => {
    from = null;
    chosen.setAttribute("d", "");
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || !shared.choose) return;
    event.preventDefault();
    from = valueAt(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    const x = valueAt(event);
    shared.legends.forEach((show) => show(x));
    if (from !== null) chosen.setAttribute("d", `M${px(from)} ${kTop}H${px(x)}V${kHeight - kBottom}H${px(from)}Z`);
  });
  canvas.addEventListener("pointerup", (event) => {
    const range = from === null ? null : {low: Math.min(from, valueAt(event)), high: Math.max(from, valueAt(event))};
    end();
    if (range && range.high - range.low > 0.02 * (xs.high - xs.low)) shared.choose(range);
  });
  canvas.addEventListener("pointerleave", () => {
    end();
    shared.legends.forEach((show) => show(null));
  });
}
