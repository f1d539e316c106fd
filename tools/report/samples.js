// The list of responses: filters, search, and a list that only makes the rows that are seen.

const kRow = 44;
const kStarters = [];  // called when the page is made: a list needs its height

// What the list and the viewer need of each sample. Fields that a file does not have stay undefined.
function prepared(samples) {
  const known = list(samples).map(object);
  known.forEach((s, i) => {
    s.index = i;
    s.prompt ??= s.question;
    if (isNumber(s.problem)) {  // a result of an evaluation: the number of its problem
      s.number = s.problem;
      s.problem = s.described ?? s.question;
    }
    s.truncated = s.finished === false;
  });
  return known;
}

const problemKey = (s) => textOf(s.problem ?? s.prompt);
const checkpointName = (data, s) =>
    `${textOf(data.sources[s.source]?.name)}${isNumber(s.step) ? `, step ${s.step}` : ""}`;
const searchText = (s) =>
    (s.lower ??= [s.prompt, s.response, s.problem, s.expected, s.broken].map(textOf).join("\n").toLowerCase());

const kOutcomes = {
  all: ["all", () => true],
  solved: ["solved", (s) => s.solved === true],
  "not solved": ["not solved", (s) => s.solved === false],
  truncated: ["truncated", (s) => s.truncated],
  broken: ["broken lines", (s) => s.broken !== undefined],
};
const kOrders = {
  file: ["as recorded", () => 0],
  step: ["by step", (a, b) => (a.step ?? 0) - (b.step ?? 0)],
  best: ["highest reward", (a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity)],
  worst: ["lowest reward", (a, b) => (a.reward ?? Infinity) - (b.reward ?? Infinity)],
  longest: ["longest", (a, b) => (b.length ?? 0) - (a.length ?? 0)],
};

function filtered(samples, f) {
  const words = f.search.toLowerCase();
  const kept = samples.filter(
      (s) => kOutcomes[f.outcome][1](s) && (f.source === "" || s.source === Number(f.source)) &&
          (f.split === "" || s.split === f.split) && (f.subject === "" || s.subject === f.subject) &&
          (f.from === "" || !(s.step < Number(f.from))) && (f.to === "" || !(s.step > Number(f.to))) &&
          (f.problem === null || problemKey(s) === f.problem) && (words === "" || searchText(s).includes(words)));
  return f.order === "file" ? kept : kept.sort((a, b) => kOrders[f.order][1](a, b) || a.index - b.index);
}

function outcomeText(s) {
  if (s.broken !== undefined) return el("span", {class: "warn"}, "broken line");
  const marks = [];
  if (s.solved === true) marks.push(el("span", {class: "good"}, "✓ solved"));
  if (s.solved === false) marks.push(el("span", {class: "bad"}, "✗ not solved"));
  if (s.truncated) marks.push(el("span", {class: "warn"}, " … truncated"));
  return marks;
}

// The prompt or the problem, whichever is shorter: a chat model's prompt is long, and so is a map.
function briefly(s) {
  const texts = [s.prompt, s.problem].map(textOf).filter((text) => text.trim() !== "");
  return texts.sort((a, b) => a.length - b.length)[0] ?? "";
}

function rowOf(data, s) {
  const place = [
    isNumber(s.step) ? `step ${s.step}` : null, s.split === "held-out" ? "held-out" : null,
    data.sources.length > 1 ? textOf(data.sources[s.source]?.name) : null
  ].filter(Boolean).join(", ");
  return [
    el("div", {}, outcomeText(s), isNumber(s.reward) ? ` ${shown(s.reward)} ` : " ", el("span", {class: "tag"}, place)),
    s.broken === undefined ?
        el("div", {}, `${textOf(s.response).slice(0, 90)} `,
           el("span", {class: "tag"}, `← ${briefly(s).slice(0, 90)}`)) :
        el("div", {}, s.broken.slice(0, 160))
  ];
}

// A listbox of `items()`; select(i) shows an item.
class VirtualList {
  constructor(draw, onSelect) {
    this.draw = draw;
    this.onSelect = onSelect;
    this.items = [];
    this.at = -1;
    this.sizer = el("div", {class: "sizer"});
    this.box = el("div", {class: "list", role: "listbox", tabindex: 0, "aria-label": "responses"}, this.sizer);
    this.box.addEventListener("scroll", () => this.render());
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.render()).observe(this.box);
  }
  set(items) {
    this.items = items;
    this.sizer.style.height = `${items.length * kRow}px`;
    this.box.scrollTop = 0;
    this.at = -1;
    this.render();
  }
  select(i) {
    if (!this.items.length) return;
    this.at = Math.min(this.items.length - 1, Math.max(0, i));
    const top = this.at * kRow, height = this.box.clientHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + kRow > this.box.scrollTop + height) this.box.scrollTop = top + kRow - height;
    this.render();
    this.onSelect(this.items[this.at]);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / kRow));
    const to = {
      ArrowDown: this.at + 1,
      ArrowUp: this.at - 1,
      PageDown: this.at + page,
      PageUp: this.at - page,
      Home: 0,
      End: this.items.length - 1
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.select(to);
  }
  render() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / kRow) - 5);
    const last = Math.min(this.items.length, first + Math.ceil((this.box.clientHeight || 600) / kRow) + 10);
    const rows = [];
    for (let i = first; i < last; ++i) {
      const row =
          el("div", {
            class: "option",
            role: "option",
            id: `option-${i}`,
            "aria-selected": String(i === this.at),
            "aria-setsize": this.items.length,
            "aria-posinset": i + 1,
            onclick: () => this.select(i)
          },
             this.draw(this.items[i]));
      row.style.top = `${i * kRow}px`;
      rows.push(row);
    }
    this.sizer.replaceChildren(...rows);
    if (this.at >= 0)
      this.box.setAttribute("aria-activedescendant", `option-${this.at}`);
    else
      this.box.removeAttribute("aria-activedescendant");
  }
}

function samplesSection(data, samples) {
  if (!samples.length) {
    return section(
        "samples", "Responses",
        el("p", {}, "No responses are recorded. ",
           data.sources.some((s) => s.kind === "train") ? "pg train --sample-every N records some." : ""));
  }
  const filter =
      {search: "", outcome: "all", source: "", split: "", subject: "", from: "", to: "", problem: null, order: "file"};
  const count = el("span", {role: "status", class: "muted"}), pane = el("div", {});
  const viewer = new Viewer(data, samples, pane);
  const rows = new VirtualList((s) => rowOf(data, s), (s) => viewer.show(s));
  const search =
      el("input", {type: "search", placeholder: "search (press /)", "aria-label": "search in problems and responses"});
  const same = el("button", {type: "button", "aria-pressed": "false"}, "only this problem, by step");
  const apply = () => {
    const kept = filtered(samples, filter), now = viewer.sample;
    count.textContent = `${kept.length} of ${samples.length} responses`;
    rows.set(kept);
    if (kept.length)
      rows.select(Math.max(0, kept.indexOf(now)));
    else
      replace(pane, el("p", {}, "No response passes the filter."));
  };
  const set = (name) => (value) => {
    filter[name] = value;
    apply();
  };
  search.addEventListener("input", () => set("search")(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || event.key === "Enter") rows.box.focus();
  });
  same.addEventListener("click", () => {
    const on = filter.problem === null && viewer.sample;
    filter.problem = on ? problemKey(viewer.sample) : null;
    filter.order = on ? "step" : "file";
    same.setAttribute("aria-pressed", String(Boolean(on)));
    apply();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    }
    if (event.key === "j") rows.select(rows.at + 1);
    if (event.key === "k") rows.select(rows.at - 1);
  });
  const values = (name) => [...new Set(samples.map((s) => s[name]).filter((x) => typeof x === "string" && x))].sort();
  const options = (name, all) => [["", all], ...values(name).map((x) => [x, x])];
  const steps = samples.some((s) => isNumber(s.step));
  const number = (name, label) => el(
      "label", {}, label, el("input", {type: "number", size: 6, onchange: (event) => set(name)(event.target.value)}));
  const more =
      el("div", {class: "row"},
         data.sources.length > 1 ?
             choice("from", [["", "all"], ...data.sources.map((s, i) => [i, textOf(s.name)])], "", set("source")) :
             null,
         values("split").length > 1 ? choice("problems", options("split", "all"), "", set("split")) : null,
         values("subject").length > 0 ? choice("subject", options("subject", "all"), "", set("subject")) : null,
         steps ? [number("from", "steps from"), number("to", "to")] : null,
         choice("order", Object.entries(kOrders).map(([k, [text]]) => [k, text]), "file", set("order")), same);
  const controls =
      el("div", {class: "row"}, search,
         choice("result", Object.entries(kOutcomes).map(([k, [text]]) => [k, text]), "all", set("outcome")), count,
         el("details", {class: "filters", open: window.innerWidth >= 600}, el("summary", {}, "more filters"), more));
  kStarters.push(apply);
  return section(
      "samples", "Responses", el("p", {class: "muted"}, "Keys: ↑ ↓ in the list, j and k anywhere, / to search."),
      rewardsByStep(data, samples), controls, el("div", {class: "samples"}, rows.box, pane));
}
