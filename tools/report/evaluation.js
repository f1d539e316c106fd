// The table of an evaluation: what pg eval --task has computed, with its intervals.

const kInterval =
    "In brackets: 95 % intervals, Wilson's where each problem counts 0 or 1, otherwise the bootstrap's over problems.";

function estimate(x, share = true) {
  const value = object(x);
  const text = share ? percent : shown;
  if (!isNumber(value.value)) return "–";
  return `${text(value.value)} [${text(value.low)}, ${text(value.high)}]`;
}

// An interval as a picture: the line from its low to its high end, and the value.
function intervalBar(x) {
  const value = object(x), px = scale({low: 0, high: 1}, 4, 136);
  if (![value.value, value.low, value.high].every(isNumber)) return "";
  return svg(
      "svg", {class: "interval", width: 140, height: 14, viewBox: "0 0 140 14", role: "img", "aria-label": estimate(x)},
      svg("path", {class: "axis", d: "M4 13H136M4 9V13M136 9V13M70 11V13"}),
      svg("path", {class: "series c1", d: `M${px(value.low)} 6H${px(value.high)}`}),
      svg("circle", {class: "f1", cx: px(value.value), cy: 6, r: 4}));
}

function evaluationTable(evaluation, names) {
  const results = list(evaluation.results).map(object), rows = [];
  const row = (name, f, bar) =>
      rows.push([name, ...results.flatMap((r, i) => [f(r, i), bar ? intervalBar(bar(r, i)) : ""])]);
  row("solved (pass@1)", (r) => estimate(r.solved), (r) => r.solved);
  row("reward", (r) => estimate(r.reward, false));
  for (const part of Object.keys(object(results[0]?.parts)))
    row(`reward: ${part}`, (r) => shown(object(r.parts)[part]));
  list(results[0]?.at_k).map(object).forEach((x, i) => {
    const at = (r) => object(list(r.at_k)[i]);
    if (x.k > 1) row(`pass@${x.k}`, (r) => estimate(at(r).pass), (r) => at(r).pass);
    if (x.k > 1) row(`maj@${x.k}`, (r) => estimate(at(r).majority), (r) => at(r).majority);
  });
  row("length (tokens)", (r) => shown(r.length));
  row("truncated", (r) => percent(r.truncated));
  for (const [kind, members] of [["subject", "subjects"], ["level", "levels"]]) {
    list(results[0]?.[members]).map(object).forEach((group, i) => {
      const of = (r) => object(list(r[members])[i]).solved;
      row(`solved, ${kind} ${textOf(group.name)} (${textOf(group.problems)})`, (r) => estimate(of(r)), of);
    });
  }
  return table(
      `${textOf(evaluation.task)}: ${plural(results[0]?.problems ?? 0, "held-out problem")}, ${
          plural(results[0]?.samples ?? 0, "response")} to each`,
      ["", ...names.flatMap((name) => [name, ""])], rows);
}

function comparisonText(c, names, i) {
  const d = object(c.difference), points = (x) => (isNumber(x) ? (100 * x).toFixed(1) : "–");
  return el(
      "p", {},
      `${names[i + 1]} minus ${names[0]}: ${points(d.value)} points solved [${points(d.low)}, ${points(d.high)}]; `,
      `problems that only the first solves more often: ${textOf(c.only_first)}, only the second: ${
          textOf(c.only_second)}`,
      isNumber(c.mcnemar_p) ? `; McNemar p = ${shown(c.mcnemar_p)}` : "");
}

function evaluationSection(data) {
  if (!list(data.evaluations).length) return null;
  return section(
      "evaluation", "Evaluation", el("p", {class: "muted"}, kInterval), data.evaluations.map((evaluation) => {
        const first = evaluation.first_source ?? 0;
        const names = list(evaluation.results).map((_, i) => textOf(data.sources[first + i]?.name));
        return [
          evaluationTable(evaluation, names),
          list(evaluation.comparisons).map((c, i) => comparisonText(object(c), names, i))
        ];
      }));
}
