// A lesson's page: runs its program and shows each part of the demonstration as soon as it is there.

// Shows the items of a demonstration below one another. Neighbouring blocks become one.
class Items {
  constructor(box) {
    this.box = box;
    this.block = null;
    this.claims = 0;
    this.failed = 0;
    this.judged = true;
  }
  show(item) {
    if (item.type === "block" && this.block) {
      this.block.append("\n" + item.text);
      return;
    }
    const element = Object.hasOwn(kItems, item.type) ? kItems[item.type](item) : null;
    if (!element) return;
    this.block = item.type === "block" ? element : null;
    if (item.type === "heading") element.id = "part" + (this.box.querySelectorAll("h2").length + 1);
    if (item.type === "claim") {
      ++this.claims;
      this.failed += item.pass ? 0 : 1;
      this.judged &&= item.judged;
    }
    add(this.box, [element]);
  }
}

const kBeside = ["ready", "heading", "text", "block"];  // what a step shows together with what comes next
// What the program sends, held back while a reader pauses. A step shows it up to the next claim, plot or table.
class Pace {
  constructor(pauseButton, stepButton, begin) {
    Object.assign(this, {pauseButton, waiting: [], paused: false, steps: 0, show: () => {}});
    pauseButton.addEventListener("click", () => this.pause(!this.paused));
    stepButton.addEventListener("click", () => {
      this.pause(true);
      ++this.steps;
      begin();
      this.flow();
    });
  }
  pause(on) {
    this.paused = on;
    this.steps = 0;
    this.pauseButton.textContent = on ? "Go on" : "Pause";
    this.flow();
  }
  take(item) {
    this.waiting.push(item);
    this.flow();
  }
  flow() {
    while (this.waiting.length > 0 && (!this.paused || this.steps > 0)) {
      const item = this.waiting.shift();
      if (this.steps > 0 && !kBeside.includes(item.type)) --this.steps;
      this.show(item);
    }
  }
}

function demonstration() {
  const button = (id) => document.getElementById(id), run = button("run"), stop = button("stop"), full = button("full");
  const status = button("status"), box = button("items");
  const mine = button("mine"), inputs = [run, full, mine];
  let program = null, begin = 0, clock = 0;
  const settings = new Settings(button("settings"), globalThis.policygradSettings ?? []);
  button("settings").hidden = settings.rows.length === 0;
  const pace = new Pace(button("pause"), button("step"), () => program || start());
  const end = (text) => {
    program?.end();
    program = null;
    clearInterval(clock);
    for (const input of inputs) input.disabled = false;
    settings.disable(false);
    document.dispatchEvent(new Event("policygrad-progress"));
    stop.disabled = true;
    status.textContent = text;
    document.documentElement.dataset.ran = text;
  };
  stop.addEventListener("click", () => end("stopped"));
  run.addEventListener("click", () => {
    pace.pause(false);
    start();
  });
  const start = () => {
    replace(box);
    pace.waiting = [];
    const items = new Items(box), own = mine.checked && !mine.disabled;
    let doing = "";
    begin = performance.now();
    for (const input of inputs) input.disabled = true;
    settings.disable(true);
    stop.disabled = false;
    delete document.documentElement.dataset.ran;
    const tick = () => (status.textContent = `${((performance.now() - begin) / 1000).toFixed(0)} s ${doing}`);
    clock = setInterval(tick, 250);
    tick();
    program = new Program((item) => item.type === "status" ? (doing = item.text) : pace.take(item));
    pace.show = (item) => {
      if (item.type === "error" || item.type === "unreadable") {
        end(`The program stopped: ${item.text}`);
      } else if (item.type === "end") {
        const judged = items.judged ? items.failed ? `, ${items.failed} failed` : ", all hold" : " measured";
        end(`${plural(items.claims, "claim")}${judged}; ${item.seconds.toFixed(1)} s in this browser`);
      } else {
        items.show(item);
      }
    };
    const words = [...(own ? ["mine"] : []), "--events", ...(full.checked ? ["--full"] : []), ...settings.words];
    program.run(words, own ? loadEntry(globalThis.policygradExercise.number).code : null);
  };
}

// A term unfolds what the glossary says of it.
document.addEventListener("click", ({target}) => {
  const button = target.closest?.("button.term");
  if (!button) return;
  const meaning = button.nextElementSibling;
  meaning.hidden = !meaning.hidden;
  button.setAttribute("aria-expanded", String(!meaning.hidden));
});

function chooseTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
chooseTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", chooseTheme);
if (document.getElementById("run")) demonstration();
if (globalThis.policygradExercise) exercisePanel();
const kTotals = document.getElementById("progress")?.dataset.totals;
if (kTotals) showProgress(document.getElementById("progress"), JSON.parse(kTotals));
if (document.getElementById("hunt")) new Hunt(document.getElementById("hunt"));
if (document.getElementById("microscope")) microscopePage(document.getElementById("microscope"));
