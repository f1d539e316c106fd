// The sliders of lesson 2's page in Chromium: node tests/web/settings.js SITE. The program gets what they say.
"use strict";
const {open, count} = require("./browser.js");

const [site] = process.argv.slice(2), kSeconds = 120;
const kScript = `
  const root = document.documentElement, box = document.getElementById("settings"), result = {ends: {}};
  const summary = () => box.querySelector("summary").textContent;
  const move = (name, value) => {
    const input = document.getElementById("set-" + name);
    input.value = value;
    input.dispatchEvent(new Event("input"));
    return input.parentElement.querySelector("output").textContent;
  };
  const ran = async () => {
    delete root.dataset.ran;
    document.getElementById("run").click();
    return {end: await until(() => root.dataset.ran), text: document.getElementById("items").textContent};
  };
  result.first = summary();
  for (const {name, low, high} of policygradSettings.filter(({name}) => name !== "seed")) {
    const input = document.getElementById("set-" + name);
    result.ends[name] = {low, high, shown: [move(name, input.min), move(name, input.max)].map(parseFloat)};
  }
  box.querySelector("button").click();
  result.again = summary();
  result.seeds = ["0", "1.5", "", "77", "1000001"].map((text) => move("seed", text));
  move("seed", "1");
  const rate = document.getElementById("set-line_lr");
  for (let k = 0; k <= Number(rate.max) && move("line_lr", k) !== "0.5 (default 0.1)"; ++k);
  result.changed = summary();
  result.run = await ran();
  box.querySelector("button").click();
  result.defaults = await ran();
  return result;`;

(async () => {
  const {seen, errors} = await open(site, "lesson2.html", 390, kSeconds, kScript);
  count.check(seen && !seen.error, `settings: ${seen?.error ?? `no end after ${kSeconds} s`}`);
  count.check(errors.length === 0, `settings: ${errors[0]}`);
  if (seen && !seen.error) {
    count.check(seen.first === "Settings: all as in the text", seen.first);
    count.check(seen.again === seen.first, `the defaults: ${seen.again}`);
    for (const [name, {low, high, shown}] of Object.entries(seen.ends)) {
      count.check(shown[0] === low && shown[1] === high, `${name}: ${shown} in place of ${low} and ${high}`);
    }
    const seeds = ["1", "1", "1", "77 (default 1)", "1"];
    count.check(String(seen.seeds) === String(seeds), `the seeds: ${seen.seeds}`);
    count.check(seen.changed === "Settings: line_lr = 0.5", seen.changed);
    count.check(
        /w = w - 0\.5/.test(seen.run.text) && /^Changed: line_lr = 0\.5 \(0\.1\)/.test(seen.run.text),
        "the program did not get the setting");
    count.check(/claims measured/.test(seen.run.end) && !/claim holds/.test(seen.run.text), seen.run.end);
    count.check(/all hold/.test(seen.defaults.end) && /w = w - 0\.1/.test(seen.defaults.text), seen.defaults.end);
  }
  count.end();
})();
