// What the recorded responses of a run earned, step by step: a histogram of rewards, and the solved share of each
// problem. Both are grids: a column is a step or some neighbouring ones, and a cell is the darker the larger its share.

const kMostColumns = 40, kMostProblems = 60, kRewardRows = 10, kGridLeft = 150, kGridRow = 18;

// The samples by step: at most kMostColumns columns {from, to, samples}, each of as many steps.
function stepColumns(samples) {
  const steps = [...new Set(samples.map((s) => s.step))].sort((a, b) => a - b);
  const each = Math.ceil(steps.length / kMostColumns);
  const place = new Map(steps.map((step, i) => [step, Math.floor(i / each)])), columns = [];
  for (const s of samples) {
    const column = (columns[place.get(s.step)] ??= {from: s.step, to: s.step, samples: []});
    column.from = Math.min(column.from, s.step);
    column.to = Math.max(column.to, s.step);
    column.samples.push(s);
  }
  return columns;
}

// The rows of a histogram, the highest first: {name, has(reward)}. Few different rewards have a row each.
function rewardRows(rewards) {
  const values = [...new Set(rewards)].sort((a, b) => b - a);
  if (values.length <= kRewardRows) return values.map((value) => ({name: shown(value), has: (r) => r === value}));
  const range = widened(rangeOf(values)), width = (range.high - range.low) / kRewardRows;
  const rowOfReward = (r) => Math.max(0, Math.min(kRewardRows - 1, Math.floor(r / width - range.low / width)));
  return Array.from({length: kRewardRows}, (_, i) => kRewardRows - 1 - i).map((i) => ({
    name: `${shown(range.low + i * width)} to ${shown(range.low + (i + 1) * width)}`,
    has: (r) => rowOfReward(r) === i
  }));
}

const stepsText = (column) =>
    column.from === column.to ? `step ${column.from}` : `steps ${column.from} to ${column.to}`;

// A grid with its numbers as a table. cell(column, row): {part, whole}; nothing is drawn where whole is 0.
function drawGrid(title, about, columns, rows, cell) {
  const height = rows.length * kGridRow + 30, width = (kWidth - kGridLeft - kRight) / columns.length;
  const canvas = svg("svg", {viewBox: `0 0 ${kWidth} ${height}`, role: "img", width: "100%", "aria-label": title});
  const numbers = [];
  rows.forEach((row, y) => {
    canvas.append(
        svg("text", {x: kGridLeft - 6, y: y * kGridRow + 13, "text-anchor": "end"}, svg("title", {}, row.name),
            row.name.length > 21 ? row.name.slice(0, 20) + "…" : row.name));
    columns.forEach((column, x) => {
      const {part, whole} = cell(column, row);
      if (whole === 0) return;
      const text = `${stepsText(column)}, ${row.name}: ${part} of ${whole}`;
      numbers.push([row.name, stepsText(column), part, whole, percent(part / whole)]);
      const at = {x: kGridLeft + x * width, y: y * kGridRow, width: Math.max(1, width - 1), height: kGridRow - 1};
      canvas.append(
          svg("rect", {...at, class: "cell"}),
          svg("rect", {...at, class: "f1", "fill-opacity": (part / whole).toFixed(3)}, svg("title", {}, text)));
    });
  });
  const every = Math.ceil(columns.length / 6);
  columns.forEach((column, x) => {
    if (x % every !== 0) return;
    const middle = kGridLeft + (x + 0.5) * width;
    canvas.append(svg("text", {x: middle, y: height - 12, "text-anchor": "middle"}, shortTick(column.from)));
  });
  return el(
      "figure", {}, el("figcaption", {}, el("strong", {}, title), el("span", {class: "muted"}, ` ${about}`)), canvas,
      later(
          "Numbers",
          () => table(title, ["row", "steps", "responses", "of", "share"], numbers.slice(0, 1200), (i) => i >= 2)));
}

function rewardGrid(samples, name) {
  const columns = stepColumns(samples);
  const rows = rewardRows(samples.map((s) => s.reward));
  return drawGrid(
      `Rewards by step${name}`, "Darker: more of the responses recorded at that step earned so much.", columns, rows,
      (column, row) => ({part: column.samples.filter((s) => row.has(s.reward)).length, whole: column.samples.length}));
}

// Problems that were tried at two steps or more, those that are solved least often at the end first.
function problemGrid(samples, name) {
  const problems = new Map();
  for (const s of samples) problems.set(problemKey(s), [...(problems.get(problemKey(s)) ?? []), s]);
  const solved = (all) => all.filter((s) => s.solved).length / all.length;
  const rows = [...problems].filter(([, all]) => new Set(all.map((s) => s.step)).size > 1).map(([key, all]) => {
    const last = Math.max(...all.map((s) => s.step));
    return {key, name: briefly(all[0]).replace(/\s+/g, " "), now: solved(all.filter((s) => s.step === last))};
  });
  if (!rows.length) return null;
  rows.sort((a, b) => a.now - b.now);
  const known = new Set(rows.map((row) => row.key));
  const columns = stepColumns(samples.filter((s) => known.has(problemKey(s))));
  const of = (column, row) => column.samples.filter((s) => problemKey(s) === row.key);
  const left = rows.length - kMostProblems;
  return drawGrid(
      `Problems by step${name}`,
      "Darker: solved by more of the responses recorded at that step. The least solved come first" +
          `${left > 0 ? `; ${plural(left, "problem is", "problems are")} left out.` : "."}`,
      columns, rows.slice(0, kMostProblems), (column, row) => {
        const here = of(column, row);
        return {part: here.filter((s) => s.solved).length, whole: here.length};
      });
}

// The grids of each run that has responses of two steps or more; null if there is none.
function rewardsByStep(data, samples) {
  const figures = [];
  data.sources.forEach((source, i) => {
    const own = samples.filter((s) => s.source === i && isNumber(s.step) && s.broken === undefined);
    const name = data.sources.length > 1 ? ` of ${textOf(source.name)}` : "";
    for (const split of ["training", "held-out"]) {
      const here = own.filter((s) => s.split === split && isNumber(s.reward));
      if (new Set(here.map((s) => s.step)).size < 2) continue;
      const where = `${name}, ${split} problems`;
      figures.push(rewardGrid(here, where), problemGrid(here.filter((s) => typeof s.solved === "boolean"), where));
    }
  });
  return figures.length ? later("Rewards and problems by step", () => el("div", {class: "plots"}, figures)) : null;
}
