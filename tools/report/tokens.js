// Tokens coloured by a number that each of them has. Levels differ in underlines as well as in colour.

// A colouring: the member of a sample, and the class of a value. `largest` is the largest size in the response.
const kColorings = {
  log_prob: {
    title: "log-probability",
    unit: "nats",
    level: (x) => ["", "q1", "q2", "q3", "q4"][[0.9, 0.5, 0.1, 0.01].filter((p) => x < Math.log(p)).length],
    legend: () => [
        ["", "p ≥ 0.9"], ["q1", "0.5 to 0.9"], ["q2", "0.1 to 0.5"], ["q3", "0.01 to 0.1"], ["q4", "below 0.01"]],
    about: "How surprising the token was to the policy that sampled it, at the sampling temperature.",
  },
  advantage: {
    title: "advantage",
    unit: "",
    level: (x, largest) =>
        (x === 0 ? "" : (x < 0 ? "n" : "p") + Math.max(1, Math.ceil((3 * Math.abs(x)) / largest - 1e-9))),
    legend: (largest) => [
        ["n3", `to ${shown(-largest)}`], ["n2", `to ${shown((-2 * largest) / 3)}`], ["n1", `to ${shown(-largest / 3)}`],
        ["", "0"], ["p1", `to ${shown(largest / 3)}`], ["p2", `to ${shown((2 * largest) / 3)}`],
        ["p3", `to ${shown(largest)}`]],
    about: "Positive: the update makes the token likelier. Negative: less likely. The scale is that of this response.",
  },
  kl: {
    title: "KL to the reference",
    unit: "nats",
    level: (x) => {
      const n = [0.01, 0.1, 1].filter((b) => Math.abs(x) >= b).length;
      return n === 0 ? "" : (x < 0 ? "n" : "p") + n;
    },
    legend: () => [
        ["n3", "≤ -1"], ["n2", "≤ -0.1"], ["n1", "≤ -0.01"], ["", "near 0"], ["p1", "≥ 0.01"], ["p2", "≥ 0.1"],
        ["p3", "≥ 1"]],
    about: "log π - log π_ref of the token. Positive: the policy prefers it more than the reference does.",
  },
};

const coloringsOf = (sample) =>
    Object.keys(kColorings).filter((key) => list(sample[key]).some(isNumber) && list(sample.tokens).length);

// Runs of tokens of the policy and of the environment: [{own, from, to}].
function turnsOf(sample) {
  const mask = textOf(sample.policy), turns = [];
  for (let i = 0; i < sample.tokens.length; ++i) {
    const own = mask[i] !== "0";
    if (turns.length && turns.at(-1).own === own)
      turns.at(-1).to = i + 1;
    else
      turns.push({own, from: i, to: i + 1});
  }
  return turns;
}

// A token's text; white space that could not be seen has a sign.
const visible = (text) => (text === "\n" ? "⏎\n" : text === "" ? "∅" : text);

function tokenInfo(sample, i) {
  const parts = Object.entries(kColorings)
                    .filter(([key]) => isNumber(list(sample[key])[i]))
                    .map(
                        ([key, c]) => `${c.title} ${shown(sample[key][i])}${
                            key === "log_prob" ? ` (p = ${shown(Math.exp(sample[key][i]))})` : ""}`);
  const own = textOf(sample.policy)[i] !== "0";
  return `token ${i + 1} of ${sample.tokens.length}, ${JSON.stringify(textOf(sample.tokens[i]))}: ${
      own ? parts.join(", ") || "no numbers" : "written by the environment, not learned"}`;
}

// The tokens of a sample by turns, coloured by `key` of kColorings or not at all ("").
function tokenView(sample, key, withNumbers) {
  const values = list(sample[key]), coloring = kColorings[key];
  const largest = Math.max(1e-9, ...values.filter(isNumber).map(Math.abs));
  const info =
      el("div", {class: "muted", "aria-live": "polite"},
         "Point at a token, or move with the arrow keys in the text, for its numbers.");
  let active = null;
  const nodes = [];
  const activate = (i) => {
    active?.classList.remove("active");
    active = nodes[i];
    active.classList.add("active");
    info.textContent = tokenInfo(sample, i);
  };
  const turns = turnsOf(sample).map((turn) => {
    const spans = [];
    for (let i = turn.from; i < turn.to; ++i) {
      const level = coloring && turn.own && isNumber(values[i]) ? coloring.level(values[i], largest) : "";
      const number = withNumbers && turn.own && isNumber(values[i]);
      nodes[i] =
          el("span", {class: `token ${level} ${turn.own ? "" : "other"} ${number ? "numbers" : ""}`, "data-i": i},
             visible(textOf(sample.tokens[i])), number ? el("small", {}, shown(values[i])) : null);
      spans.push(nodes[i]);
    }
    return turn.own && turn.from === 0 && turn.to === sample.tokens.length ?
        spans :
        el("div", {class: turn.own ? "turn" : "turn other"},
           el("small", {class: "muted"}, turn.own ? "policy " : "environment "), spans);
  });
  const box =
      el("div", {class: "text tokens mono", tabindex: 0, role: "group", "aria-label": "tokens of the response"}, turns);
  const indexOf = (target) => (target instanceof Element ? target.closest(".token")?.dataset.i : undefined);
  for (const type of ["pointerover", "click"]) {
    box.addEventListener(type, (event) => {
      const i = indexOf(event.target);
      if (i !== undefined) activate(Number(i));
    });
  }
  box.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    event.preventDefault();
    const now = active ? Number(active.dataset.i) : -1;
    activate(Math.min(nodes.length - 1, Math.max(0, now + by)));
    active.scrollIntoView({block: "nearest"});
  });
  const legend = coloring &&
      el("div", {class: "row"}, `${coloring.title}${coloring.unit ? ` (${coloring.unit})` : ""}:`,
         coloring.legend(largest).map(([level, text]) => el("span", {class: `swatch ${level}`}, text)),
         el("span", {class: "muted"}, coloring.about));
  return [legend, box, info];
}
