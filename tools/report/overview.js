// What a run was and how it ended, in a card for each run; and how several runs differ.

// The metric that says how good a run is: the first of these that it has. `least`: lower is better.
const kResults = [
  {name: "eval/solved"}, {name: "eval/reward"}, {name: "eval/accuracy"}, {name: "val_loss", least: true},
  {name: "episode_return"}, {name: "reward/mean"}, {name: "loss", least: true}
];

// Seconds in words.
function duration(seconds) {
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// "last 0.62 [0.55, 0.69] at step 80, best 0.75 at step 0" of a group of runs; null without any result.
function resultText(data, group) {
  const result = kResults.find(({name}) => curveLine(data, name, group)?.mean.some(isNumber));
  if (!result) return null;
  const line = curveLine(data, result.name, group), at = line.mean.findLastIndex(isNumber);
  const ends = ["_low", "_high"].map((end) => {
    const other = curveLine(data, result.name + end, group);
    return other ? other.mean[other.x.indexOf(line.x[at])] : null;
  });
  let best = at;
  line.mean.forEach((y, i) => {
    if (isNumber(y) && (result.least ? y < line.mean[best] : y > line.mean[best])) best = i;
  });
  const metric = metricTitle(result.name), value = metric.unit === "share" ? percent : shown;
  const interval = ends.every(isNumber) ? ` [${value(ends[0])}, ${value(ends[1])}]` : "";
  const name = kStepNames[data.sources[data.groups[group].sources[0]].kind];
  const step = (x) => (name ? `${shown(x)} ${name}` : `step ${shown(x)}`);
  return [
    el("strong", {}, `${metric.title}: ${value(line.mean[at])}${interval}`),
    ` at ${step(line.x[at])}`,
    best === at ? ", the best" : `; the best was ${value(line.mean[best])} at ${step(line.x[best])}`
  ];
}

function aboutRun(source) {
  const config = object(source.config);
  const model = config.init ? `from ${config.init}` :
      isNumber(Number(config.layers)) && config.layers !== undefined ?
                              `${plural(Number(config.layers), "layer")} of width ${config.width}` :
                              null;
  return [
    source.kind === "eval" ? "a model of pg eval" :
        source.kind        ? `pg ${source.kind}` :
                             "a run",
    config.task ?? config.environment, config.algorithm, model
  ].filter(Boolean).join(", ");
}

function sourceCard(data, source, i) {
  const config = Object.entries(object(source.config));
  const group = data.groups.findIndex((g) => g.sources.includes(i));
  const alone = group >= 0 && data.groups[group].sources.length === 1;
  const result = alone ? resultText(data, group) : null, speed = alone ? speedText(data, group) : "";
  const seconds = alone ? clockOf(data, group)?.(Infinity) ?? 0 : 0;
  return el(
      "div", {class: "card"}, el("h3", {}, source.name),
      el("p", {class: "muted"}, `${aboutRun(source)}; ${source.path}`),
      result ? el("p", {}, result, seconds > 0 ? `; rollouts and updates took ${duration(seconds)}` : "",
                  speed ? `; ${speed}` : "") :
               null,
      list(source.missing).map((text) => el("p", {class: "warn"}, text)),
      config.length ? later(
                          plural(config.length, "option"),
                          () => table("options", ["", ""], config.map(([k, v]) => [k, textOf(v)]))) :
                      null);
}

// The options that are not the same in all runs.
function differences(data) {
  const configs = data.sources.map((source) => object(source.config)).filter((c) => Object.keys(c).length);
  if (configs.length < 2 || configs.length > 12) return null;
  const sources = data.sources.filter((source) => Object.keys(object(source.config)).length);
  const names = [...new Set(configs.flatMap((c) => Object.keys(c)))].filter(
      (name) => name !== "name" && new Set(configs.map((c) => textOf(c[name]))).size > 1);
  if (!names.length) return null;
  return el(
      "div", {class: "card"},
      table(
          "Options in which the runs differ", ["", ...sources.map((source) => textOf(source.name))],
          names.map((name) => [name, ...configs.map((c) => (c[name] === undefined ? "–" : textOf(c[name])))])));
}

function overview(data) {
  const bands = data.groups.map((group, i) => [group, i]).filter(([group]) => group.sources.length > 1);
  return section(
      "overview", "Overview", el("div", {class: "cards"}, data.sources.map((source, i) => sourceCard(data, source, i))),
      bands.map(([group, i]) => {
        const result = resultText(data, i);
        return el(
            "p", {}, `${group.name} are equal but for seed, name, folder, threads and device. `,
            result ? ["Their mean: ", result, "."] : "");
      }),
      differences(data),
      list(data.notes).length ?
          el("div", {class: "card notes"}, el("h3", {class: "warn"}, "What could not be read, or is left out"),
             el("ul", {}, data.notes.map((note) => el("li", {}, note)))) :
          null);
}
