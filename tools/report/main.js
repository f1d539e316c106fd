// Reads the data of the page and shows its sections. The page says that it is ready: data-ready, and data-open-ms, the
// milliseconds since the browser began to load it.

const kSections = [
  ["overview", "Overview"], ["curves", "Curves"], ["health", "Health checks"], ["evaluation", "Evaluation"],
  ["samples", "Responses"], ["episodes", "Episodes"]
];

function chooseTheme(theme) {
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function head(data, title, sections) {
  const toggle =
      el("button", {
        type: "button",
        onclick: () => chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark")
      },
         "light / dark");
  replace(
      document.getElementById("head"), el("h1", {}, title),
      el("nav", {"aria-label": "sections"}, sections.map(([id, name]) => el("a", {href: "#" + id}, name)),
         el("span", {class: "muted"},
            [data.made, data.version ? `policygrad ${data.version}` : ""].filter(Boolean).join(", ")),
         toggle));
}

function lastValues(data, i) {
  const group = data.groups.findIndex((g) => g.sources.includes(i));
  if (group < 0 || data.groups[group].sources.length > 1) return null;
  const names = metricOrder(data.curves.map((curve) => curve.name)).first.slice(0, 6), rows = [];
  for (const name of names) {
    const line = data.curves.find((curve) => curve.name === name).lines.find((l) => l.group === group);
    const last = line?.mean.findLast(isNumber);
    if (last !== undefined) rows.push([metricTitle(name).title, shown(last), metricTitle(name).unit]);
  }
  return rows.length ? table("last values", ["", "value", "unit"], rows, (k) => k === 1) : null;
}

function sourceCard(data, source, i) {
  const config = Object.entries(object(source.config));
  const about = [
    source.kind === "eval" ? "a model of pg eval" :
        source.kind        ? `pg ${source.kind}` :
                             "a run",
    object(source.config).task ?? object(source.config).environment
  ].filter(Boolean).join(", ");
  return el(
      "div", {class: "card"}, el("h3", {}, source.name), el("p", {class: "muted"}, `${about}; ${source.path}`),
      list(source.missing).map((text) => el("p", {class: "warn"}, text)), lastValues(data, i),
      config.length ? later(
                          plural(config.length, "option"),
                          () => table("options", ["", ""], config.map(([k, v]) => [k, textOf(v)]))) :
                      null);
}

function overview(data) {
  const bands = data.groups.filter((group) => group.sources.length > 1);
  return section(
      "overview", "Overview", el("div", {class: "cards"}, data.sources.map((source, i) => sourceCard(data, source, i))),
      bands.length ?
          el("p", {}, "Equal but for seed, name, folder, threads and device: ", bands.map((g) => g.name).join("; "),
             ".") :
          null,
      list(data.notes).length ?
          el("div", {class: "card notes"}, el("h3", {class: "warn"}, "What could not be read, or is left out"),
             el("ul", {}, data.notes.map((note) => el("li", {}, note)))) :
          null);
}

function begin() {
  const data = JSON.parse(document.getElementById("report-data").textContent), page = document.getElementById("main");
  chooseTheme(new URLSearchParams(location.search).get("theme"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chooseTheme());
  const title = document.title;
  if (data.kind === "lesson") {
    head(data, title, []);
    replace(page, lessonPage(data));
  } else {
    const samples = prepared(JSON.parse(document.getElementById("report-samples").textContent));
    const parts = [
      overview(data), curvesSection(data), healthSection(data), evaluationSection(data),
      samples.length || !list(data.episodes).length ? samplesSection(data, samples) : null, episodesSection(data)
    ].filter(Boolean);
    replace(page, parts);
    head(data, title, kSections.filter(([id]) => document.getElementById(id)));
  }
  for (const start of kStarters) start();
  document.body.getBoundingClientRect();  // waits for the layout
  document.documentElement.dataset.openMs = performance.now().toFixed(0);
  document.documentElement.dataset.ready = "1";
}
begin();
