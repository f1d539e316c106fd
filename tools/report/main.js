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

function begin() {
  const data = JSON.parse(document.getElementById("report-data").textContent), page = document.getElementById("main");
  chooseTheme(new URLSearchParams(location.search).get("theme"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chooseTheme());
  const title = document.title;
  if (data.kind === "lesson") {
    head(data, title, []);
    const all = () =>
        replace(page, el("p", {}, el("button", {type: "button", onclick: show}, "Slides")), lessonPage(data));
    const show = () => new Slides(page, data.items, all);
    data.slides ? show() : all();
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
