// The checks on a learner's JavaScript: node tests/web/exercises.js BUILD_FOLDER, from the repository's root. For each
// lesson with web/answers.js that make web has built: all checks are ok on the answers, TODO where each answer is
// TODO(), and WRONG with the line where a function throws.
"use strict";
const fs = require("fs"), os = require("os"), path = require("path");
const {spawnSync} = require("child_process");

const build = process.argv[2], folder = fs.mkdtempSync(path.join(os.tmpdir(), "exercises"));
const kAnswer = /\/\/ \[answer [^\]]*\][\s\S]*?\/\/ \[end\]/g;
let passed = 0, failed = 0;

// The states and results of the checks on the text `code`.
function checksOf(number, code) {
  const file = path.join(folder, "exercise.js");
  fs.writeFileSync(file, code);
  const words = ["tools/web/run.js", path.join(build, `lesson${number}.js`), file, "check", "--events", "--no-fork"];
  const run = spawnSync("node", words, {encoding: "utf8", maxBuffer: 1 << 26});
  return run.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((row) => row.type === "check");
}
function check(ok, what) {
  ok ? ++passed : ++failed;
  if (!ok) console.log(`FAILED  ${what}`);
}

for (const lesson of fs.readdirSync("lessons")) {
  const file = path.join("lessons", lesson, "web", "answers.js"), number = /^0?(\d+[a-z]?)_/.exec(lesson)?.[1];
  if (!fs.existsSync(file) || !fs.existsSync(path.join(build, `lesson${number}.js`))) continue;
  const answers = fs.readFileSync(file, "utf8");
  const rows = checksOf(number, answers), ids = new Set(answers.match(/(?<=\[answer )\S+/g));
  check(rows.length === ids.size, `lesson ${number}: ${rows.length} checks, ${ids.size} answers`);
  for (const row of rows) check(row.state === "ok", `${row.id} on the answers: ${row.got}, ${row.diagnosis}`);
  for (const row of checksOf(number, answers.replace(kAnswer, "TODO();"))) {
    check(row.state === "TODO", `${row.id} on TODO(): ${row.state}`);
  }
  for (const row of checksOf(number, answers.replace(kAnswer, "null.x;"))) {
    check(row.state === "WRONG" && /TypeError.*\(line \d+\)/.test(row.got), `${row.id} on null.x: ${row.got}`);
  }
}
fs.rmSync(folder, {recursive: true});
if (passed === 0) ++failed;
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
