// The exercise of a lesson's page: the learner writes functions in JavaScript, and the lesson's own checks grade them,
// but for those whose pieces need C++.

const kSecondsOfCheck = 8;  // as in a terminal (lessons/kit/isolate.h)
const kPrinted = 100;       // the lines of print() that a check shows
const kSigns = {
  ok: "✓",
  WRONG: "✗",
  TODO: "○"
};
const kClasses = {
  ok: "good",
  WRONG: "bad",
  TODO: "muted"
};

// One check: its state, what its run found, hints and the answer.
class CheckRow {
  // facts: those of policygradExercise.checks; goTo(line) shows a line of the learner's text, 0 the check's function.
  constructor(facts, entry, save, goTo) {
    Object.assign(this, {facts, entry, save, goTo, printed: []});
    this.sign = el("span");
    this.result = el("div", {"aria-live": "polite"});
    this.help = el("div");
    this.element =
        el("details", {class: "check"}, el("summary", {}, this.sign, ` ${facts.id} ${facts.title}`), this.result,
           el("p", {}, el("button", {type: "button", onclick: () => goTo(facts.functions[0], 0)}, "Show the function"),
              " ", this.hintButton = el("button", {type: "button", onclick: () => this.hint()}), " ",
              el("button", {type: "button", onclick: () => this.answer()}, "Answer")),
           this.help);
    this.show(entry.checks[facts.id] ?? "TODO");
    this.nameHints();
  }
  get hints() {
    return Math.min(this.entry.hints[this.facts.id] ?? 0, this.facts.hints.length);
  }
  nameHints() {
    const all = this.facts.hints.length;
    this.hintButton.textContent = this.hints < all ? `Hint ${this.hints + 1} of ${all}` : "No more hints";
    this.hintButton.disabled = this.hints === all;
    replace(
        this.help, this.facts.hints.slice(0, this.hints).map((text) => el("p", {}, el("strong", {}, "Hint: "), text)));
  }
  hint() {
    this.entry.hints[this.facts.id] = this.hints + 1;
    this.save();
    this.nameHints();
  }
  answer() {
    this.nameHints();
    add(this.help, [el("pre", {class: "block", tabindex: 0}, this.facts.answer)]);
  }
  show(state, ...content) {
    this.entry.checks[this.facts.id] = state;
    this.sign.className = kClasses[state];
    this.sign.textContent = `${kSigns[state]} ${state === "TODO" ? "to do" : state}`;
    replace(this.result, content);
  }
  begin() {
    this.printed = [];
    replace(this.result);
  }
  print(text) {
    this.printed.push(text);
  }
  // The verdict of a check: the item "check", or one made here where the check gave none.
  end(item) {
    const line = /\(line (\d+)\)/.exec(item.got), lines = this.printed.join("\n").split("\n");
    if (lines.length > kPrinted) lines.splice(kPrinted, Infinity, `… ${lines.length - kPrinted} more lines`);
    const facts = [["input", item.input], ["got", item.got], ["want", item.want], ["likely", item.diagnosis]];
    const wrong = item.state === "WRONG";
    this.show(
        item.state, this.printed.length ? el("pre", {class: "block", tabindex: 0}, lines.join("\n")) : null,
        wrong ? el("dl", {},
                   facts.filter(([, text]) => text).map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])) :
                null,
        wrong && line ? el("p", {},
                           el("button", {type: "button", onclick: () => this.goTo(null, Number(line[1]))},
                              `Go to line ${line[1]}`)) :
                        null,
        item.state === "ok" ? el("p", {}, item.note) : null,
        item.state === "ok" ? el("p", {class: "muted"}, this.facts.why) : null);
    this.element.open = false;
  }
}

class Exercise {
  constructor(box) {
    const {number, stub, checks, elsewhere} = globalThis.policygradExercise;
    Object.assign(this, {number, stub, elsewhere, box, entry: loadEntry(number), running: null, clock: 0});
    this.editor = new Editor(this.entry.code ?? stub, () => this.save(), () => this.check());
    const goTo = (name, line) => this.editor.goTo(name ? this.editor.lineOf(name) : line);
    this.rows = new Map(checks.map((facts) => [facts.id, new CheckRow(facts, this.entry, () => this.save(), goTo)]));
    this.status = el("span", {role: "status"});
    this.button = el("button", {type: "button", id: "check", onclick: () => this.check()}, "Check");
    this.aside = el("button", {type: "button", onclick: () => this.swap(this.entry.before)});
    this.names = el("p", {class: "mono"});
    this.lay();
    this.warm();
    addEventListener("pagehide", () => this.save());
    addEventListener("storage", (event) => {
      const other = event.key === keyOf(number) ? loadEntry(number) : {};
      if (other.code === undefined || other.code === this.editor.text) return;
      Object.assign(this.entry, other);
      this.editor.text = other.code;
      this.say("Another tab has changed your functions; this is its text.");
    });
  }
  lay() {
    const button = (text, act) => el("button", {type: "button", onclick: act}, text);
    replace(
        this.box, el("h2", {id: "exercise-title"}, "Your functions"),
        el("p", {},
           "Write in place of each TODO(); and press Check, or Ctrl+Enter. The checks are those of the C++ course. " +
               "The operations are the engine's own. print(x) shows a value."),
        el("p", {class: "controls"}, this.button, " ", button("Start again", () => this.swap(this.stub)), " ",
           this.aside, " ", button("Save as a file", () => download(`exercise${this.number}.js`, this.editor.text)),
           " ", this.status),
        this.editor.element, [...this.rows.values()].map((row) => row.element), this.restInWords(),
        el("details", {}, el("summary", {}, "The operations"),
           el("p", {},
              "x may stand before the point, too: mean(x, [1], true) is x.mean([1], true). A tensor x also has " +
                  "x.shape, x.rank, x.numel, x.dtype, x.size(dim). fail(\"text\") reports an error."),
           this.names));
    this.nameAside();
  }
  // The checks of the lesson that this page has not.
  restInWords() {
    const names = this.elsewhere, lesson = `lesson${this.number}`;
    if (names.length === 0) return null;
    const checks = names.length > 1 ? `Checks ${names.slice(0, -1).join(", ")} and ${names.at(-1)} exist` :
                                      `Check ${names[0]} exists`;
    return el("p", {class: "muted"}, `${checks} in C++ only: make ${lesson} && ./${lesson} check`);
  }
  nameAside() {
    this.aside.hidden = this.entry.before === undefined;
    this.aside.textContent = "Bring back the text before";
  }
  // Puts another text into the editor and keeps this one aside.
  swap(text) {
    if (this.editor.text !== this.stub) this.entry.before = this.editor.text;
    if (text === this.entry.before) delete this.entry.before;
    this.editor.text = text;
    this.save();
    this.nameAside();
  }
  say(text) {
    this.status.textContent = text;
  }
  save() {
    this.entry.code = this.editor.text;
    if (!saveEntry(this.number, this.entry)) {
      this.say("This browser keeps nothing: save your functions as a file before you leave.");
    }
    document.dispatchEvent(new Event("policygrad-progress"));
  }
  // Opens a check's row and shows it. Beside the text only the panel scrolls, so that a reader keeps the place.
  open(id) {
    const {element} = this.rows.get(id), panel = document.getElementById("panel");
    element.open = true;
    element.querySelector("summary").focus({preventScroll: true});
    if (getComputedStyle(panel).position === "sticky") {
      panel.scrollTop +=
          element.getBoundingClientRect().top - panel.getBoundingClientRect().top - panel.clientHeight / 2;
    } else {
      element.scrollIntoView();
    }
  }
  // Loads the program for the next run.
  warm() {
    this.program?.end();
    this.program = new Program((item) => this.receive(item));
  }
  check() {
    if (this.running) return;
    this.save();
    this.code = this.editor.text;
    this.left = [...this.rows.keys()];
    delete document.documentElement.dataset.checked;
    this.say("checking …");
    this.start();
  }
  start() {
    this.button.disabled = true;
    this.running = {id: ""};
    if (this.program.ready) this.limit();
    this.program.run(["check", "--events", "--no-fork", ...this.left], this.code);
  }
  // From now on the check, or the text before the first, has its time.
  limit() {
    clearTimeout(this.clock);
    const end = () => this.broken(
        `no end after ${kSecondsOfCheck} seconds`, "a loop that never ends, or one that does far too much work");
    this.clock = setTimeout(end, 1000 * kSecondsOfCheck);
  }
  receive(item) {
    const row = this.rows.get(item.id ?? this.running?.id);
    if (item.type === "ready") {
      replace(this.names, item.operations.join(", "));
      if (this.running) this.limit();
    } else if (item.type === "checking") {
      this.running = {id: item.id};
      row.begin();
      this.limit();
    } else if (item.type === "printed") {
      row?.print(item.text);
    } else if (item.type === "check") {
      clearTimeout(this.clock);
      this.left.shift();
      row.end(item);
    } else if (item.type === "checked") {
      this.finish();
    } else if (item.type === "unreadable") {
      this.unreadable(item.text);
    } else if (item.type === "error") {
      this.broken(item.text, "");
    }
  }
  // The check that runs ended the program or does not end: it is WRONG, and the others run in another program.
  broken(got, diagnosis) {
    if (!this.running) return this.say(`The program stopped: ${got}`);
    const id = this.running.id;
    if (!id) return this.finish(`The text outside of the functions: ${got}`);
    clearTimeout(this.clock);
    this.rows.get(id).end({state: "WRONG", input: "the call itself", got, want: "a result", diagnosis});
    this.left.shift();
    if (this.left.length === 0) return this.finish();
    this.warm();
    this.start();
  }
  async unreadable(text) {
    const found = await syntaxError(this.code);
    this.finish(found ? `${found.text} (line ${found.line})` : text);
    if (found) this.editor.goTo(found.line);
  }
  finish(text) {
    clearTimeout(this.clock);
    const states = [...this.rows.values()].map((row) => this.entry.checks[row.facts.id]);
    const count = (state) => states.filter((one) => one === state).length;
    const first = [...this.rows.values()][states.indexOf("WRONG")];
    if (first && !text) first.element.open = true;
    this.running = null;
    this.button.disabled = false;
    this.say(text ?? `${count("ok")} ok, ${count("WRONG")} wrong, ${count("TODO")} to do`);
    document.documentElement.dataset.checked = this.status.textContent;
    this.save();
    this.warm();
  }
}

// The two halves of a lesson's panel: the demonstration, and the exercise, which is made when it is first shown.
function exercisePanel() {
  const demo = document.getElementById("demo"), box = document.getElementById("exercise");
  const {number, checks} = globalThis.policygradExercise;
  let exercise = null;
  const button = (text, writes) => el("button", {type: "button", onclick: () => show(writes)}, text);
  const demoButton = button("Demonstration", false), ownButton = button("", true),
        mine = document.getElementById("mine");
  const count = () => {
    const ok = okOf(loadEntry(number));
    ownButton.textContent = `Your functions: ${ok} of ${checks.length} ok`;
    mine.disabled = ok === 0;
  };
  const show = (writes) => {
    demo.hidden = writes;
    box.hidden = !writes;
    demoButton.setAttribute("aria-pressed", String(!writes));
    ownButton.setAttribute("aria-pressed", String(writes));
    if (writes) exercise ??= new Exercise(box);
  };
  const follow = () => {
    const id = /^#check-(.*)$/.exec(location.hash)?.[1];
    if (!id || !checks.some((check) => check.id === id)) return;
    show(true);
    exercise.open(id);
  };
  replace(document.getElementById("halves"), demoButton, " ", ownButton);
  mine.parentElement.hidden = false;
  document.addEventListener("policygrad-progress", count);
  addEventListener("hashchange", follow);
  count();
  show(false);
  follow();
}
