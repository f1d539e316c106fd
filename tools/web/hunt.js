// What is broken here? The page trains with one hidden mistake of a lesson, shows what an engineer would see, and asks
// for the cause.

class Hunt {
  constructor(box) {
    this.number = box.dataset.lesson;
    this.entry = loadEntry(this.number);
    this.status = el("span", {role: "status", class: "muted"});
    this.next = el("button", {type: "button", id: "next", onclick: () => this.train()}, "Train");
    this.score = el("p", {id: "score"});
    this.seen = el("div", {id: "seen"});
    this.question = el("div", {id: "question", "aria-live": "polite"});
    replace(box, el("p", {class: "controls"}, this.next, " ", this.status), this.score, this.seen, this.question);
    this.showScore();
  }
  showScore() {
    const {answered, right, streak, best} = this.entry.hunt;
    this.score.textContent = `${right} of ${answered} found, ${streak} in a row, at most ${best}`;
  }
  train() {
    replace(this.seen);
    replace(this.question);
    this.next.disabled = true;
    const begin = performance.now(), seconds = () => `${((performance.now() - begin) / 1000).toFixed(0)} s`;
    const clock = setInterval(() => (this.status.textContent = `training, ${seconds()}`), 250);
    const end = (text) => {
      clearInterval(clock);
      program.end();
      this.next.disabled = false;
      this.status.textContent = text;
      document.documentElement.dataset.hunt = text;
    };
    delete document.documentElement.dataset.hunt;
    const program = new Program((item) => {
      if (item.type === "error") end(`The program stopped: ${item.text}`);
      if (!item.choices) return;
      end(`Question ${item.seed}; trained in ${seconds()}`);
      this.ask(item);
    });
    // The verdict on the answer "a" has the true one.
    program.run(["hunt", "--json", "--answer", "a", "--seed", String(this.entry.hunt.answered + 1)]);
  }
  ask({observations, choices, verdict}) {
    const items = new Items(this.seen);
    observations.forEach((item) => items.show(item.type === "plot" ? {...item, title: item.lines[0].name} : item));
    const buttons = choices.map(
        ({letter, text}) =>
            el("p", {},
               el("button", {type: "button", class: "cause", onclick: () => this.answer(letter, verdict, buttons)},
                  `${letter}  ${text}`)));
    replace(this.question, buttons);
    this.question.scrollIntoView({block: "nearest"});
  }
  answer(letter, verdict, buttons) {
    const {hunt} = this.entry, right = letter === verdict.truth;
    ++hunt.answered;
    hunt.right += right ? 1 : 0;
    hunt.streak = right ? hunt.streak + 1 : 0;
    hunt.best = Math.max(hunt.best, hunt.streak);
    saveEntry(this.number, this.entry);
    this.showScore();
    for (const button of buttons) button.firstChild.disabled = true;
    const facts = ["cause", "picture", "check", "input", "engine", "this", "read"].filter((name) => verdict[name]);
    add(this.question, [
      el("p", {class: right ? "good" : "bad"}, right ? "✓ Right." : `✗ No: it is ${verdict.truth}.`),
      el("dl", {class: "facts"}, facts.map((name) => [el("dt", {}, name), el("dd", {}, verdict[name])]))
    ]);
    this.next.textContent = "Next question";
    this.next.focus({preventScroll: true});
  }
}
