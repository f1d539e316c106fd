// The page of a recorded step: every number on it comes from the engine (tools/web/microscope.h), in a worker.

const kMicroscopeWorker = `
self.Module = {onRuntimeInitialized: () => setTimeout(() => postMessage(""), 0)};
self.onmessage = ({data}) => postMessage(Module.microscope(data));
`;

// Requests to the engine, answered in their order.
class Engine {
  constructor(onReady) {
    this.waiting = [];
    this.worker = workerOf([kMicroscopeWorker, globalThis.policygradProgram]);
    this.worker.onmessage = ({data}) => (data === "" ? onReady() : this.waiting.shift()(JSON.parse(data)));
  }
  // Resolves with {value} or {error}.
  ask(request) {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.worker.postMessage(JSON.stringify(request));
    });
  }
}

// A number with its digits for the pointer, and for tests.
const number = (x) => el("span", {title: isNumber(x) ? String(x) : undefined}, shown(x));
// The shade of a token: blue where a step raises its probability, orange where it lowers it.
function shade(gradient, largest) {
  const part = largest > 0 ? Math.abs(gradient) / largest : 0;
  if (part < 0.02) return "";
  return (gradient < 0 ? "p" : "n") + (part < 0.34 ? 1 : part < 0.67 ? 2 : 3);
}

// One algorithm on the page: its row of the table, and the constants that a reader has moved.
class Column {
  constructor(names, empty, change) {
    Object.assign(this, {set: {}, value: null, change});
    this.select =
        el("select", {
          onchange: () => {
            this.set = {};
            change();
          }
        },
           empty ? el("option", {value: ""}, "none") : null, names.map((name) => el("option", {value: name}, name)));
    this.label = el("label", {}, empty ? "compared with" : "algorithm", this.select);
    this.message = el("p", {class: "bad", role: "status"});
    this.constants = el("div");
    this.losses = el("p");
    this.formulas = el("pre", {class: "block", tabindex: 0});
    this.element =
        el("div", {class: "card"}, this.label, this.message, this.losses, this.constants,
           el("details", {}, el("summary", {}, "Its formulas"), this.formulas));
  }
  get name() {
    return this.select.value;
  }
  request(update, group) {
    return {do: "examine", algorithm: this.name, set: this.set, update, group};
  }
  take(answer) {
    this.value = answer?.value ?? null;
    this.message.textContent = answer?.error ?? "";
    replace(this.losses);
    this.formulas.parentElement.hidden = !this.value;
    if (!this.value) {
      replace(this.constants);
      return;
    }
    const v = this.value, rest = [["loss of the policy", v.policy_loss], ["KL", v.kl_loss], ["beta", v.beta]];
    add(this.losses, [
      "loss ", el("strong", {}, number(v.loss)),
      rest.filter(([, x]) => x !== null).map(([name, x]) => [`; ${name} `, number(x)])
    ]);
    this.formulas.textContent = v.explain;
    this.showConstants(v.constants);
  }
  // The sliders stay while their names do, so that one that is dragged keeps the pointer.
  showConstants(constants) {
    const names = this.name + constants.map((c) => c.name).join();
    if (names === this.shown) return;
    this.shown = names;
    replace(this.constants, constants.map((c) => this.slider(c)));
  }
  slider({name, about, value, low, high, whole}) {
    const bottom = low ?? 0, top = Math.min(high ?? Infinity, value > bottom ? 5 * value : bottom + 1);
    const moved = (from, to) => {
      to.value = from.value;
      this.set[name] = from.value;
      this.change();
    };
    const range = el("input", {
      type: "range",
      min: bottom,
      max: top,
      step: whole ? 1 : (top - bottom) / 200,
      value,
      title: about,
      "aria-label": name,
      oninput: () => moved(range, box)
    });
    const box = el("input", {
      type: "number",
      min: low,
      max: high,
      step: whole ? 1 : "any",
      value,
      title: about,
      "aria-label": `${name}, exactly`,
      onchange: () => moved(box, range)
    });
    return el("p", {class: "row constant"}, el("span", {title: about}, name), range, box);
  }
}

class MicroscopePage {
  constructor(box, table, engine) {
    Object.assign(this, {engine, group: 0, response: 0, update: 0, asked: 0});
    const names = table.map((row) => row.name), change = () => this.ask();
    this.columns = [new Column(names, false, change), new Column(names, true, change)];
    this.about = el("p", {role: "status"});
    this.prompts = el("span");
    this.update = 0;
    this.steps = el("input", {
      type: "range",
      min: 0,
      value: 0,
      oninput: () => {
        this.update = Number(this.steps.value);
        this.ask();
      }
    });
    this.stepText = el("span");
    this.responses = el("div");
    this.tokens = el("div");
    const input = el("input", {
      type: "file",
      accept: ".json",
      hidden: true,
      onchange: () => {
        if (input.files[0]) this.open(input.files[0]);
        input.value = "";
      }
    });
    replace(
        box,
        el("p", {class: "row"}, el("button", {type: "button", onclick: () => input.click()}, "Open a recorded step"),
           input, this.about),
        el("p", {class: "row"}, this.prompts, el("label", {}, "optimizer steps since", this.steps), this.stepText),
        el("div", {class: "compared"}, el("div", {}, this.columns.map((column) => column.element)),
           el("div", {}, el("h2", {}, "A prompt and its responses"), this.responses,
              el("h2", {}, "Each token of a response"), this.tokens)));
  }
  async open(file) {
    try {
      if (file.size > 1 << 28) throw new Error("the file has more than 256 MB");
      await this.load(JSON.parse(await file.text()));
    } catch (error) {
      this.about.textContent = `${file.name}: ${error.message}`;
    }
  }
  async load(file) {
    const answer = await this.engine.ask({do: "load", file});
    if (answer.error) throw new Error(answer.error);
    Object.assign(this, {file, group: 0, response: 0, update: 0});
    const groups = file.responses.length / file.samples;
    this.about.textContent = `Step ${file.step} of the task ${file.task}, recorded with ${file.algorithm}: ` +
        `${plural(groups, "prompt")} with ${plural(file.samples, "response")} each.`;
    const prompts = Array.from({length: groups}, (_, p) => [p, file.responses[p * file.samples].prompt.slice(-80)]);
    replace(this.prompts, choice("prompt", prompts, 0, (p) => {
              Object.assign(this, {group: Number(p), response: 0});
              this.ask();
            }));
    this.steps.max = file.updates.length;
    this.steps.value = 0;
    const [own, other] = this.columns;
    if ([...own.select.options].some((option) => option.value === file.algorithm)) own.select.value = file.algorithm;
    own.set = {};
    other.set = {};
    await this.ask();
  }
  // Asks the engine for what the page shows; only the newest answer is shown.
  async ask() {
    const number = ++this.asked;
    const used =
        this.columns.map((column) => (column.name ? this.engine.ask(column.request(this.update, this.group)) : null));
    const answers = await Promise.all(used);
    if (number !== this.asked) return;
    this.columns.forEach((column, i) => column.take(answers[i]));
    this.stepText.textContent = `${this.update} of ${this.file.updates.length}`;
    this.show();
    document.documentElement.dataset.shown = String(number);
  }
  get live() {
    return this.columns.filter((column) => column.value);
  }
  show() {
    const {samples, responses} = this.file, first = this.group * samples;
    for (const column of this.live) {
      column.largest = Math.max(0, ...column.value.responses.flatMap((r) => r.gradient.map(Math.abs)));
    }
    const rows = [];
    for (let i = 0; i < samples; ++i) {
      const r = responses[first + i];
      this.live.forEach((column, c) => {
        const v = column.value.responses[i], alike = v.advantage.every((a, t) => !r.policy[t] || a === v.advantage[0]);
        const strip =
            el("button", {
              type: "button",
              class: "strip tokens mono",
              "aria-pressed": String(i === this.response),
              onclick: () => {
                this.response = i;
                this.show();
              }
            },
               r.tokens.map(
                   (token, t) =>
                       el("span", {class: `token ${r.policy[t] ? shade(v.gradient[t], column.largest) : "other"}`},
                          token.replace(/\n/g, "↵") || "∅")));
        rows.push([
          strip, this.live.length > 1 ? column.name : "", c === 0 ? number(r.score) : "",
          alike ? number(v.advantage[0]) : "differs by token", number(v.loss.reduce((sum, x) => sum + x, 0))
        ]);
      });
    }
    replace(
        this.responses,
        table(
            "Blue: a step of gradient descent raises the token's probability. Orange: it lowers it. The stronger, " +
                "the larger d loss / d log π.",
            ["response", "", "reward", "advantage", "sum of its tokens' losses"], rows, (i) => i > 1));
    this.showTokens(responses[first + this.response]);
  }
  showTokens(r) {
    const kinds = [
      ["credit", "credit"], ["advantage", "advantage"], ["ratio", "ratio"], ["weight", "weight"], ["kl", "KL"],
      ["loss", "loss"], ["gradient", "d loss / d log π"]
    ];
    const heads = ["token", "log π"], values = [];
    for (const column of this.live) {
      const v = column.value.responses[this.response];
      for (const [key, name] of kinds) {
        const trivial = v[key] === null || (key === "weight" && v[key].every((x) => x === 1));
        if (trivial) continue;
        heads.push(this.live.length > 1 ? `${name}, ${column.name}` : name);
        values.push(
            (t) =>
                [number(v[key][t]),
                 key === "ratio" && v.stopped[t] ? el("strong", {class: "warn"}, " clipped") : null]);
      }
    }
    const main = this.live[0]?.value.responses[this.response];
    const rows = main ? r.tokens.map(
                            (token, t) =>
                                [el("span", {class: `token mono ${shade(main.gradient[t], this.live[0].largest)}`},
                                    token.replace(/\n/g, "↵") || "∅"),
                                 number(main.log_prob[t]), ...values.map((value) => (r.policy[t] ? value(t) : ""))]) :
                        [];
    replace(this.tokens, table(`${r.prompt.slice(-80)} → ${r.tokens.join("")}`, heads, rows, (i) => i > 0));
  }
}

function microscopePage(box) {
  const engine = new Engine(async () => {
    const page = new MicroscopePage(box, (await engine.ask({do: "table"})).value, engine);
    await page.load(globalThis.policygradStep);
  });
}
