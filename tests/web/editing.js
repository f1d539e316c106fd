// Writes exercises in the course's pages, as a learner would: node tests/web/editing.js SITE [PICTURES], in Chromium.
// Right answers, wrong ones, text that is no JavaScript, loops without an end, and what the browser keeps.
"use strict";
const fs = require("fs"), os = require("os"), path = require("path");
const {open, count} = require("./browser.js");

const [site, pictures] = process.argv.slice(2), kSeconds = 120;
const kShort = ["lesson1.html", "lesson2.html", "lesson12.html"];  // demonstrations of seconds
// In the page: opens the exercise; write(text) puts a text into the editor, check() presses Check and returns the
// status.
const kBegin = `
  const root = document.documentElement, E = policygradExercise, states = () => JSON.parse(
      localStorage.getItem("policygrad.lesson" + E.number)).checks;
  document.querySelectorAll("#halves button")[1].click();
  const area = await until(() => document.querySelector("textarea"));
  const button = (text) => [...document.querySelectorAll("#exercise button")]
      .find((b) => b.textContent.startsWith(text));
  const write = (text) => { area.value = text; area.dispatchEvent(new Event("input")); };
  const check = async (press = () => button("Check").click()) => {
    delete root.dataset.checked;
    press();
    return await until(() => root.dataset.checked);
  };
  const rows = () => [...document.querySelectorAll(".check")].map((row) => row.textContent);
  const answers = () => E.checks.reduce((text, c) => c.functions.reduce((t, name, i) => {
    const answer = c.answer.split(/(?<=^}\\n)/m)[i];
    return t.replace(new RegExp("function " + name + "\\\\([^]*?^}\\n", "m"), () => answer);
  }, text), E.stub);
`;
const kStates = (states) => Object.values(states).join(" ");

async function visit(name, width, script, options) {
  const {seen, errors} = await open(site, name, width, kSeconds, kBegin + script, options);
  count.check(seen && !seen.error, `${name}: ${seen?.error ?? `no end after ${kSeconds} s`}`);
  count.check(errors.length === 0, `${name}: ${errors[0]}`);
  return seen && !seen.error ? seen : null;
}

// The checks of every exercise are ok on its answers, and its page fits a phone.
async function rightAnswers(name) {
  const picture = pictures && path.join(pictures, `${name}_exercise.png`);
  const seen = await visit(
      name, 390, `
    const none = await check();
    write(answers());
    const all = await check();
    return {n: E.checks.length, none, all, wide: root.scrollWidth - innerWidth, elsewhere: E.elsewhere,
            text: document.getElementById("exercise").innerText};`,
      {picture});
  if (!seen) return;
  count.check(seen.none === `0 ok, 0 wrong, ${seen.n} to do`, `${name}, as it is: ${seen.none}`);
  count.check(seen.all === `${seen.n} ok, 0 wrong, 0 to do`, `${name}, the answers: ${seen.all}`);
  const named = seen.elsewhere.every((check) => seen.text.includes(check));
  count.check(named && seen.elsewhere.length > 0 === /in C\+\+ only/.test(seen.text), `${name}: ${seen.elsewhere}`);
  count.check(seen.wide <= 0, `${name} is ${seen.wide} pixels too wide`);
}

async function wrongTexts() {
  const seen = await visit("lesson2.html", 1280, `
    const first = (code) => E.stub.replace("TODO();", code);
    const result = {};
    write(first("return (1 +;"));
    result.syntax = await check();
    result.selected = area.value.slice(area.selectionStart, area.selectionEnd);
    write(first("null.x;"));
    result.thrown = await check();
    result.row = rows()[0];
    button("Go to line").click();
    result.line = area.value.slice(area.selectionStart, area.selectionEnd);
    write(first("for (;;);"));
    result.endless = await check();
    result.after = states();
    write(first("mul_backward(dz, g, a, b);"));
    result.deep = await check();
    write(first("const d = full([1e5, 1], 1); mul(d, transpose(d));"));
    result.wrapped = [await check(), rows()[0], states()];
    write(first("print({n: 3n, x: [NaN]}); for (let i = 0; i < 1000; ++i) print('line ' + i, dz); g.pass(0, dz);"));
    await check();
    result.printed = rows()[0];
    write("");
    result.empty = await check();
    write("}}}}}} not code");
    result.braces = await check();
    write(E.stub + "while (true) {}");
    result.outside = await check();
    write(E.stub);
    result.then = await check();
    return result;`);
  if (!seen) return;
  const others = kStates(seen.after).split(" ");
  count.check(/SyntaxError.*\(line \d+\)/.test(seen.syntax), `a syntax error: ${seen.syntax}`);
  count.check(/return \(1 \+;/.test(seen.selected), `a syntax error selects its line: ${seen.selected}`);
  count.check(/^0 ok, 1 wrong/.test(seen.thrown) && /TypeError.*line \d+/.test(seen.row), `null.x: ${seen.row}`);
  count.check(/null\.x;/.test(seen.line), `Go to line selects ${seen.line}`);
  count.check(others[0] === "WRONG" && others.slice(1).every((s) => s === "TODO"), `for (;;): ${kStates(seen.after)}`);
  count.check(/1 wrong/.test(seen.deep), `a recursion without an end: ${seen.deep}`);
  const [wrapped, row, after] = seen.wrapped;
  count.check(/^0 ok, 1 wrong/.test(wrapped) && /memory/.test(row), `a product of 80 GB: ${wrapped}; ${row}`);
  count.check(kStates(after) === kStates(seen.after), `after a product of 80 GB: ${kStates(after)}`);
  count.check(
      seen.printed.includes("{\"n\":\"3\",\"x\":[\"NaN\"]}"), `print() of a BigInt: ${seen.printed.slice(0, 80)}`);
  count.check(/line 0/.test(seen.printed) && /more lines/.test(seen.printed), "print() shows its lines, and not all");
  count.check(/ok, \d+ wrong, 0 to do/.test(seen.empty), `an empty text: ${seen.empty}`);
  count.check(/outside of the functions: no end/.test(seen.outside), `a loop outside: ${seen.outside}`);
  count.check(/0 ok, 0 wrong/.test(seen.then), `after it: ${seen.then}`);
  count.check(/SyntaxError/.test(seen.braces), `closing braces: ${seen.braces}`);
}

// The demonstration on the learner's own functions.
async function ownDemonstration(name) {
  const seen = await visit(name, 1280, `
    const box = document.getElementById("mine"), before = box.disabled;
    write(answers());
    await check();
    document.querySelectorAll("#halves button")[0].click();
    box.checked = true;
    document.getElementById("run").click();
    return {before, ran: await until(() => root.dataset.ran)};`);
  if (!seen) return;
  count.check(seen.before, `${name} with my functions: not before the first ok`);
  count.check(/all hold/.test(seen.ran), `${name} with my functions: ${seen.ran}`);
}

// A demonstration that is paused, shown step by step, and then to its end.
async function steps() {
  const {seen, errors} = await open(site, "lesson2.html", 1280, kSeconds, `
    const items = document.getElementById("items"), click = (id) => document.getElementById(id).click();
    const wait = () => new Promise((resolve) => setTimeout(resolve, 1500));
    const counts = [];
    for (let i = 0; i < 3; ++i) {
      click("step");
      await until(() => items.children.length > (counts.at(-1) ?? 0));
      await wait();
      counts.push(items.children.length);
    }
    click("pause");
    await until(() => document.documentElement.dataset.ran);
    return {counts, all: items.children.length, ran: document.documentElement.dataset.ran};`);
  count.check(errors.length === 0 && seen && !seen.error, `steps: ${seen?.error ?? errors[0] ?? "no end"}`);
  if (!seen || seen.error) return;
  count.check(seen.counts.every((n, i) => n < seen.all && n > (seen.counts[i - 1] ?? 0)), `steps: ${seen.counts}`);
  count.check(/all hold/.test(seen.ran), `after steps: ${seen.ran}`);
}

// Keys, the buttons, and a text that another program left under our name.
async function keysAndButtons() {
  const seen = await visit("lesson2.html#check-02.2", 1280, `
    const result = {opened: document.querySelectorAll(".check[open]").length, at: document.activeElement.textContent};
    area.focus();
    area.setSelectionRange(area.value.indexOf("TODO();"), area.value.indexOf("TODO();"));
    const key = (name, more) => area.dispatchEvent(
        new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true, ...more}));
    key("Enter");
    result.indented = area.value.includes("\\n  \\n  TODO();");
    result.tab = key("Tab");
    result.checked = await check(() => key("Enter", {ctrlKey: true}));
    const own = area.value;
    result.forms = document.getElementById("exercise").textContent.includes("clamp(x, min, max), ");
    button("Start again").click();
    result.again = area.value === E.stub;
    button("Bring back").click();
    result.back = area.value === own;
    document.querySelectorAll(".check")[0].open = true;
    button("Hint 1").click();
    result.hint = rows()[0].includes(E.checks[0].hints[0]);
    return result;`);
  if (!seen) return;
  count.check(seen.opened === 1 && /02\.2/.test(seen.at), `#check-02.2 opens ${seen.opened} rows, focus on ${seen.at}`);
  count.check(seen.indented && seen.tab, "Enter keeps the indentation, and Tab is left to the browser");
  count.check(/0 ok, 0 wrong/.test(seen.checked), `Ctrl+Enter: ${seen.checked}`);
  count.check(seen.again && seen.back, "Start again and Bring back");
  count.check(seen.forms, "the operations are shown with their arguments");
  count.check(seen.hint, "the first hint is shown");
}

async function memory() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "profile"));
  await visit(
      "lesson2.html", 1280, `
    localStorage.setItem("policygrad.lesson3", '{"checks": 5, "hints": {"03.1": "many"}, "code": {}}');
    localStorage.setItem("policygrad.lesson6", "{{{");
    write("// mine\\n" + answers());
    return await check();`,
      {profile});
  const kept = await visit("lesson2.html", 1280, "return [area.value.slice(0, 7), states()];", {profile});
  count.check(kept && kept[0] === "// mine" && /^ok( ok)*$/.test(kStates(kept[1])), `kept: ${JSON.stringify(kept)}`);
  for (const name of ["lesson3.html", "lesson6.html"]) {
    const ok = await visit(name, 1280, "return area.value === E.stub;", {profile});
    count.check(ok, `${name} after a damaged entry begins with the exercise`);
  }
  const {seen, errors} = await open(
      site, "index.html", 390, kSeconds, `
    window.confirm = () => true;
    const input = document.querySelector("input[type=file]");
    const status = document.querySelector("#progress [role=status]");
    const read = async (text) => {
      status.textContent = "";
      const files = new DataTransfer();
      files.items.add(new File([text], "mine.json"));
      input.files = files.files;
      input.dispatchEvent(new Event("change"));
      return await until(() => status.textContent);
    };
    const before = document.getElementById("progress2").textContent;
    const texts = ["no JSON", "[1, 2]", '{"kind": "other"}'];
    const refused = [];
    for (const text of texts) refused.push(await read(text));
    const lessons = {lesson2: {code: "// theirs", checks: {"02.1": "ok", "02.9": "great"}}, lesson99: {}, other: 1};
    const took = await read(JSON.stringify({kind: "policygrad progress", lessons}));
    return {before, refused, took, after: document.getElementById("progress2").textContent,
            entry: JSON.parse(localStorage.getItem("policygrad.lesson2"))};`,
      {profile});
  count.check(errors.length === 0 && seen && !seen.error, `index.html: ${seen?.error ?? errors[0]}`);
  if (seen && !seen.error) {
    count.check(/^5 of 5/.test(seen.before) && /^1 of 5/.test(seen.after), `progress: ${seen.before}, ${seen.after}`);
    count.check(seen.refused.every((text) => /^Nothing was read/.test(text)), seen.refused.join("; "));
    count.check(/read from mine\.json/.test(seen.took), seen.took);
    count.check(
        /^\/\/ mine/.test(seen.entry.before) && seen.entry.code === "// theirs", "the text before is kept aside");
  }
  fs.rmSync(profile, {recursive: true, force: true});
}

(async () => {
  for (const name of fs.readdirSync(site).filter((file) => /^lesson\w+\.exercise\.js$/.test(file))) {
    await rightAnswers(name.replace(".exercise.js", ".html"));
  }
  await wrongTexts();
  for (const name of kShort) await ownDemonstration(name);
  await steps();
  await keysAndButtons();
  await memory();
  count.end();
})();
