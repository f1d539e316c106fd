// One response in full: problem, tokens, reward, drawing; and another checkpoint's response to the same problem.

class Viewer {
  constructor(data, samples, pane) {
    this.data = data;
    this.samples = samples;
    this.pane = pane;
    this.sample = null;
    this.coloring = "log_prob";
    this.numbers = false;
    this.against = "";      // checkpointName of the other
    this.byProblem = null;  // made when it is first needed
  }
  show(sample) {
    this.sample = sample;
    const other = this.other();
    replace(
        this.pane, this.controls(),
        el("div", {class: this.against ? "panes two" : "panes"}, this.card(sample),
           this.against ? (other ? this.card(other) :
                                   el("div", {class: "card"}, `${this.against} has no response to this problem.`)) :
                          null));
  }
  rivals() {
    if (!this.byProblem) {
      this.byProblem = new Map();
      for (const s of this.samples) {
        if (s.broken !== undefined) continue;
        const key = problemKey(s);
        if (!this.byProblem.has(key)) this.byProblem.set(key, []);
        this.byProblem.get(key).push(s);
      }
    }
    const own = checkpointName(this.data, this.sample);
    return (this.byProblem.get(problemKey(this.sample)) ?? []).filter((s) => checkpointName(this.data, s) !== own);
  }
  // The response of the chosen checkpoint: of the same place in its group, if there is one.
  other() {
    const all = this.against ? this.rivals().filter((s) => checkpointName(this.data, s) === this.against) : [];
    return all.find((s) => s.sample === this.sample.sample) ?? all[0];
  }
  controls() {
    const again = (name) => (value) => {
      this[name] = value;
      this.show(this.sample);
    };
    const colorings = coloringsOf(this.sample);
    const names = [...new Set(this.rivals().map((s) => checkpointName(this.data, s)))].slice(0, 200);
    if (this.against && !names.includes(this.against)) names.push(this.against);
    return el(
        "div", {class: "row"},
        colorings.length ?
            choice(
                "colour tokens by", [["", "nothing"], ...colorings.map((key) => [key, kColorings[key].title])],
                colorings.includes(this.coloring) ? this.coloring : "", again("coloring")) :
            null,
        colorings.length ?
            el("button",
               {type: "button", "aria-pressed": String(this.numbers), onclick: () => again("numbers")(!this.numbers)},
               "numbers") :
            null,
        names.length ? choice(
                           "compare with", [["", "nothing"], ...names.map((name) => [name, name])], this.against,
                           again("against")) :
                       el("span", {class: "muted"}, "no other checkpoint has a response to this problem"));
  }
  card(s) {
    if (s.broken !== undefined) {
      return el(
          "div", {class: "card"}, el("p", {class: "warn"}, `Line ${s.line} of the file is broken. This is its text:`),
          longText(s.broken));
    }
    const task = textOf(object(this.data.sources[s.source]?.config).task), drawing = drawingOf(task, s);
    const facts = [
      checkpointName(this.data, s), s.split,
      isNumber(s.group) ? `problem ${s.group + 1} of the step` :
          isNumber(s.number) ? `problem ${s.number + 1}` :
                               null,
      isNumber(s.sample) ? `response ${s.sample + 1}` : null, isNumber(s.length) ? plural(s.length, "token") : null,
      s.subject ? `subject ${textOf(s.subject)}` : null, s.level ? `level ${s.level}` : null, `line ${s.line}`
    ].filter(Boolean);
    const tokens = list(s.tokens).length ?
        tokenView(s, coloringsOf(s).includes(this.coloring) ? this.coloring : "", this.numbers) :
        longText(textOf(s.response));
    return el(
        "article", {class: "card"}, el("h3", {}, outcomeText(s), " ", el("span", {class: "muted"}, facts.join(", "))),
        el("h3", {}, "Prompt"), longText(textOf(s.prompt)),
        s.expected ? [el("h3", {}, "A right answer"), longText(textOf(s.expected))] : null,
        el("h3", {},
           list(s.tokens).length && turnsOf(s).length > 1 ?
               `Response, ${plural(turnsOf(s).filter((t) => t.own).length, "turn")}` :
               "Response"),
        tokens,
        s.tokens_left_out ?
            el("p", {class: "warn"},
               `The numbers of its ${s.tokens_left_out} tokens were not recorded: the step had too many.`) :
            null,
        s.bytes_left_out ?
            el("p", {class: "warn"}, `Only its beginning was recorded: ${s.bytes_left_out} bytes are left out.`) :
            null,
        typeof s.answer === "string" ? el("p", {}, "Counted as the answer: ", el("code", {}, s.answer.slice(0, 500))) :
            s.answer === null        ? el("p", {}, "The response gives no answer in the form that was asked for.") :
                                       null,
        s.verdict ? el("p", {}, `Not the right answer: ${textOf(s.verdict).slice(0, 500)}.`) : null,
        this.rewards(s), groupTable(this.samples, s, (other) => this.show(other)),
        drawing ? [el("h3", {}, "Drawing"), drawing] : null);
  }
  // The reward and the parts that it is made of, as bars from 0.
  rewards(s) {
    if (!isNumber(s.reward)) return null;
    const parts = Object.entries(object(s.parts)).filter(([, value]) => isNumber(value));
    const rows = [["reward", s.reward], ...(parts.length > 1 || (parts[0] && parts[0][1] !== s.reward) ? parts : [])];
    const most = Math.max(1e-9, ...rows.map(([, value]) => Math.abs(value)));
    const px = scale({low: -most, high: most}, 2, 198);
    const bar = (value) =>
        svg("svg", {width: 200, height: 14, viewBox: "0 0 200 14", "aria-hidden": "true"}, svg("rect", {
              class: value < 0 ? "f2" : "f3",
              x: Math.min(px(0), px(value)),
              y: 3,
              width: Math.max(1, Math.abs(px(value) - px(0))),
              height: 8
            }),
            svg("path", {class: "axis", d: `M${px(0)} 0V14`}));
    return [
      el("h3", {}, "Reward"),
      table(
          "bars start at 0; negative ones go left", ["", "value", ""],
          rows.map(([name, value]) => [name, shown(value), bar(value)]), (i) => i === 1)
    ];
  }
}
