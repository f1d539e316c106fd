// The checks on a learner's JavaScript: node tests/web/exercises.js BUILD_FOLDER, from the repository's root. For each
// lesson with web/answers.js that make web has built: all checks are ok on the answers, TODO where each answer is
// TODO(), and WRONG with the line where a function throws. A piece without an answer in JavaScript is TODO, always. A
// wrong answer of mistakes.js is WRONG in the words that the C++ course has for it.
"use strict";
const fs = require("fs"), os = require("os"), path = require("path");
const {spawnSync} = require("child_process");
const {mistakes, refused} = require("./mistakes.js");
require("../../tools/web/engine.js");

const build = process.argv[2], folder = fs.mkdtempSync(path.join(os.tmpdir(), "exercises"));
const kAnswer = /\/\/ \[answer [^\]]*\][\s\S]*?\/\/ \[end\]/g;
let passed = 0, failed = 0;

// The states and results of the checks on the text `code`: of all, or of those with these ids or pieces.
function checksOf(number, code, ...names) {
  const file = path.join(folder, "exercise.js");
  fs.writeFileSync(file, code);
  const words =
      ["tools/web/run.js", path.join(build, `lesson${number}.js`), file, "check", "--events", "--no-fork", ...names];
  const run = spawnSync("node", words, {encoding: "utf8", maxBuffer: 1 << 26});
  return run.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((row) => row.type === "check");
}
function check(ok, what) {
  ok ? ++passed : ++failed;
  if (!ok) console.log(`FAILED  ${what}`);
}

// The check and the words of a mistake's row in the C++ files of a lesson: {"name", "01.2", "words", ...}.
function rowOf(folder, name) {
  const sources = fs.readdirSync(folder).filter((file) => /^(mutants|mistakes).*\.cpp$/.test(file));
  const text = sources.map((file) => fs.readFileSync(path.join(folder, file), "utf8")).join("");
  const row = new RegExp(`\\{"${name}",\\s*"([\\d.]+)",\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(text);
  return row ? {id: row[1], words: JSON.parse(row[2])} : {};
}

function wrongAnswer(number, folder, answers, [, name, right, wrong]) {
  const {id, words} = rowOf(folder, name), parts = answers.split(right);
  check(id, `lesson ${number}: no row "${name}" in mutants*.cpp or mistakes*.cpp`);
  check(parts.length === 2, `${name}: web/answers.js has "${right}" ${parts.length - 1} times`);
  if (!id || parts.length !== 2) return;
  const row = checksOf(number, parts.join(wrong), id)[0];
  const said = `${row?.state}, ${row?.got}, ${row?.diagnosis}`;
  check(row?.state === "WRONG" && row.diagnosis.includes(words), `${id} on ${name}: ${said}, not: ${words}`);
}

// What is no result, or no argument of an operation, is named in one sentence.
function noResult(number, answers, [, id, body, want]) {
  const text = answers.replace(new RegExp(`// \\[answer ${id} [^\\]]*\\][^]*?// \\[end\\]`), () => body);
  const row = checksOf(number, text, id)[0];
  check(text !== answers && row?.state === "WRONG" && row.got.includes(want), `${id} on ${body}: ${row?.got}`);
}

// A text of any bytes comes back from JavaScript, and one of UTF-8 is what Node.js reads.
function texts() {
  let seed = 1;
  const random = (n, largest) => Array.from({length: n}, () => (seed = (seed * 16807) % 2147483647) % largest);
  const made = Array.from({length: 2000}, (_, i) => random(i % 9, i % 2 ? 256 : 128));
  for (const code of [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfeff, 0xffff, 0x10000, 0x10ffff]) {
    const whole = [...Buffer.from(String.fromCodePoint(code))];
    made.push(whole, [...whole, ...whole], whole.slice(1), whole.slice(0, -1), [...whole.slice(0, -1), 0x41]);
  }
  made.push([0xc0, 0x80], [0xed, 0xa0, 0x80], [0xed, 0xb2, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xef, 0xbb, 0xbf]);
  for (const bytes of made) {
    const text = policygrad.textOf(Uint8Array.from(bytes)), read = Buffer.from(bytes).toString();
    check(`${policygrad.bytesOf(text)}` === `${bytes}`, `the bytes ${bytes} came back as ${policygrad.bytesOf(text)}`);
    if (`${[...Buffer.from(read)]}` === `${bytes}`) check(text === read, `the bytes ${bytes} are ${read}, not ${text}`);
  }
}

texts();
for (const lesson of fs.readdirSync("lessons")) {
  const file = path.join("lessons", lesson, "web", "answers.js"), number = /^0?(\d+[a-z]?)_/.exec(lesson)?.[1];
  if (!fs.existsSync(file) || !fs.existsSync(path.join(build, `lesson${number}.js`))) continue;
  const answers = fs.readFileSync(file, "utf8"), ids = answers.match(/(?<=\[answer )\S+/g);
  const rows = checksOf(number, answers);
  const pieces = new Set(rows.filter((row) => ids.includes(row.id)).map((row) => row.piece));
  for (const id of ids) check(rows.some((row) => row.id === id), `lesson ${number}: no check has the answer ${id}`);
  for (const row of rows) {
    const want = pieces.has(row.piece) ? "ok" : "TODO";
    check(row.state === want, `${row.id} on the answers: ${row.state}, not ${want}: ${row.got}, ${row.diagnosis}`);
  }
  for (const row of checksOf(number, answers.replace(kAnswer, "TODO();"))) {
    check(row.state === "TODO", `${row.id} on TODO(): ${row.state}`);
  }
  for (const row of checksOf(number, answers.replace(kAnswer, "null.x;"), ...pieces)) {
    check(row.state === "WRONG" && /TypeError.*\(line \d+\)/.test(row.got), `${row.id} on null.x: ${row.got}`);
  }
  const wrong = mistakes.filter(([of]) => String(of) === number);
  check(wrong.length > 0, `lesson ${number}: mistakes.js has no wrong answer`);
  for (const row of wrong) wrongAnswer(number, path.join("lessons", lesson), answers, row);
  for (const row of refused.filter(([of]) => String(of) === number)) noResult(number, answers, row);
}
fs.rmSync(folder, {recursive: true});
if (passed === 0) ++failed;
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
