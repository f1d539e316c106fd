// The page of lesson 3's hunt in Chromium: node tests/web/hunt.js SITE. It asks a question whose true cause is among
// the five, judges an answer, and counts it.
"use strict";
const {open, count} = require("./browser.js");

const [site] = process.argv.slice(2), kSeconds = 240;
const kScript = `
  const root = document.documentElement, score = () => document.getElementById("score").textContent;
  const question = document.getElementById("question"), next = document.getElementById("next");
  const train = async () => {
    delete root.dataset.hunt;
    next.click();
    return until(() => root.dataset.hunt);
  };
  const result = {before: score(), first: await train()};
  result.plots = document.querySelectorAll("#seen svg").length;
  result.causes = [...question.querySelectorAll("button")].map((b) => b.textContent);
  question.querySelector("button").click();
  result.verdict = question.textContent;
  result.after = score();
  result.disabled = [...question.querySelectorAll("button")].every((b) => b.disabled);
  result.second = await train();
  result.others = [...question.querySelectorAll("button")].map((b) => b.textContent);
  result.kept = JSON.parse(localStorage.getItem("policygrad.lesson3")).hunt.answered;
  result.wide = root.scrollWidth - innerWidth;
  return result;`;

(async () => {
  const {seen, errors} = await open(site, "hunt3.html", 390, kSeconds, kScript);
  count.check(seen && !seen.error, `hunt: ${seen?.error ?? `no end after ${kSeconds} s`}`);
  count.check(errors.length === 0, `hunt: ${errors[0]}`);
  if (seen && !seen.error) {
    const right = seen.verdict.includes("✓ Right."), truth = /No: it is ([a-e])\./.exec(seen.verdict)?.[1] ?? "a";
    const cause = seen.causes.find((text) => text.startsWith(truth))?.slice(3);
    count.check(/^0 of 0 found/.test(seen.before), seen.before);
    count.check(/^Question 1;/.test(seen.first) && /^Question 2;/.test(seen.second), `${seen.first} ${seen.second}`);
    count.check(seen.plots >= 3, `${seen.plots} curves`);
    count.check(new Set(seen.causes).size === 5 && String(seen.causes) !== String(seen.others), String(seen.causes));
    count.check(cause && seen.verdict.includes(`cause${cause}`), `${seen.verdict} does not name ${cause}`);
    count.check(seen.after.startsWith(`${right ? 1 : 0} of 1 found`), seen.after);
    count.check(seen.disabled && seen.kept === 1 && seen.wide <= 0, JSON.stringify(seen));
  }
  count.end();
})();
