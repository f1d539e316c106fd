// The page of a recorded step in Chromium: node tests/web/microscope.js SITE PROGRAM, where PROGRAM is the microscope
// of the native build (tests/CMakeLists.txt). For each algorithm every number that the page shows is the engine's to
// 1e-12.
"use strict";
const fs = require("fs");
const {execFileSync} = require("child_process");
const {open, count} = require("./browser.js");

const [site, program] = process.argv.slice(2), kSeconds = 240;
const step = JSON.parse(fs.readFileSync("tools/web/step.json", "utf8"));

// The answers of the native engine to requests about the step.
function engine(requests) {
  const lines = [{do: "load", file: step}, ...requests].map((request) => JSON.stringify(request) + "\n");
  const answers = execFileSync(program, {input: lines.join(""), encoding: "utf8", maxBuffer: 1 << 28});
  return answers.split("\n").filter(Boolean).map((line) => JSON.parse(line)).slice(1);
}
const close = (x, y) => Math.abs(x - y) <= 1e-12 * Math.max(1, Math.abs(x), Math.abs(y));

// In the page: chooses each algorithm for each group and update, and returns the numbers that it shows.
const kBegin = `
  const root = document.documentElement;
  const shown = async (act) => {
    const before = await until(() => root.dataset.shown);
    act();
    await until(() => root.dataset.shown !== before);
  };
  const [own, other] = [await until(() => document.querySelector(".card select")),
                        document.querySelectorAll(".card select")[1]];
  await until(() => root.dataset.shown);
  const choose = (select, name) => shown(() => { select.value = name; select.dispatchEvent(new Event("change")); });
  const numbers = (box) => [...box.querySelectorAll("span[title]")].map((e) => e.title).filter((t) => t && !isNaN(t));
  const responses = () => document.querySelectorAll("#microscope table")[0];
  const tokens = () => document.querySelectorAll("#microscope table")[1];
  const slide = (k) => shown(() => {
    const range = document.querySelector("#microscope input[type=range]");
    range.value = k;
    range.dispatchEvent(new Event("input"));
  });
`;

async function visit(name, width, script) {
  const {seen, errors} = await open(site, "microscope.html", width, kSeconds, kBegin + script);
  count.check(seen && !seen.error, `${name}: ${seen?.error ?? `no end after ${kSeconds} s`}`);
  count.check(errors.length === 0, `${name}: ${errors[0]}`);
  return seen && !seen.error ? seen : null;
}

// The numbers of the table of tokens, row by row, as the page lays them out.
function expected(response, policy) {
  const kinds = ["credit", "advantage", "ratio", "weight", "kl", "loss", "gradient"].filter(
      (key) => response[key] !== null && !(key === "weight" && response[key].every((x) => x === 1)));
  return response.log_prob.flatMap((x, t) => [x, ...(policy[t] ? kinds.map((key) => response[key][t]) : [])]);
}

async function everyRow() {
  const updates = [0, step.updates.length];
  const seen = await visit("each algorithm", 1280, `
    const result = {};
    for (const name of [...own.options].map((option) => option.value)) {
      await choose(own, name);
      for (const k of ${JSON.stringify(updates)}) {
        await slide(k);
        result[name + " " + k] = {error: document.querySelector(".card .bad").textContent,
                                  losses: numbers(document.querySelector(".card p + p")), tokens: numbers(tokens())};
      }
    }
    return result;`);
  if (!seen) return;
  const keys = Object.keys(seen);
  count.check(keys.length === 2 * engine([{do: "table"}])[0].value.length, `${keys.length} rows of the table`);
  const answers = engine(keys.map((key) => {
    const [algorithm, update] = key.split(" ");
    return {do: "examine", algorithm, update: Number(update), group: 0};
  }));
  keys.forEach((key, i) => {
    const {value, error} = answers[i], page = seen[key];
    count.check((error ?? "") === page.error, `${key}: the page says "${page.error}", the engine "${error ?? ""}"`);
    if (!value) return;
    const losses = [value.loss, value.policy_loss, value.kl_loss, value.beta].filter((x) => x !== null);
    const all = [...losses, ...expected(value.responses[0], step.responses[0].policy)];
    const shown = [...page.losses, ...page.tokens].map(Number);
    const same = all.length === shown.length && all.every((x, n) => close(x, shown[n]));
    count.check(same, `${key}: the page shows ${shown.slice(0, 8)}, the engine has ${all.slice(0, 8)}`);
  });
}

// Two algorithms, a slider, another prompt, another response, and files that are none.
async function useIt() {
  const seen = await visit("one visit", 390, `
    await choose(other, "dr_grpo");
    const result = {two: responses().querySelectorAll("tbody tr").length};
    const box = document.querySelectorAll(".card")[1].querySelector("input[type=number]");
    await shown(() => { box.value = "0.01"; box.dispatchEvent(new Event("change")); });
    await slide(${step.updates.length});
    result.clipped = tokens().textContent.includes("clipped");
    result.moved = numbers(document.querySelectorAll(".card")[1].querySelector("p + p"))[0];
    await shown(() => { box.value = "-3"; box.dispatchEvent(new Event("change")); });
    result.refused = document.querySelectorAll(".card .bad")[1].textContent;
    await shown(() => { box.value = "0.2"; box.dispatchEvent(new Event("change")); });
    responses().querySelectorAll("button")[2].click();
    result.caption = tokens().caption.textContent;
    const input = document.querySelector("input[type=file]"), status = document.querySelector("#microscope [role=status]");
    result.files = [];
    for (const text of ["no JSON", "[]", '{"kind": "policygrad step", "version": 1}', '{"kind": "policygrad step", "version": 9}']) {
      const before = status.textContent, files = new DataTransfer();
      files.items.add(new File([text], "mine" + result.files.length + ".json"));
      input.files = files.files;
      input.dispatchEvent(new Event("change"));
      result.files.push(await until(() => status.textContent !== before && status.textContent));
    }
    result.still = tokens().caption.textContent;
    result.wide = root.scrollWidth - innerWidth;
    return result;`);
  if (!seen) return;
  const moved =
      engine([{do: "examine", algorithm: "dr_grpo", set: {"clip-low": "0.01"}, update: step.updates.length, group: 0}]);
  count.check(seen.two === 2 * step.samples, `two algorithms: ${seen.two} rows`);
  count.check(
      close(Number(seen.moved), moved[0].value.loss), `clip-low 0.01: ${seen.moved}, not ${moved[0].value.loss}`);
  count.check(/clip-low/.test(seen.refused), `clip-low -3: ${seen.refused}`);
  const second = step.responses[1];
  count.check(seen.caption === `${second.prompt} → ${second.tokens.join("")}`, `the second response: ${seen.caption}`);
  seen.files.forEach((text, i) => count.check(text.startsWith(`mine${i}.json: `), `a file that is none: ${text}`));
  count.check(seen.still === seen.caption, "a refused file changes nothing");
  count.check(seen.wide <= 0, `microscope.html is ${seen.wide} pixels too wide`);
}

(async () => {
  await everyRow();
  await useIt();
  count.end();
})();
