// Makes the pages of the course that run in a browser: node tools/web/site.js BUILD_FOLDER SITE_FOLDER, from the
// repository's root. A page has a lesson's README, as cmark-gfm renders it, its program of tools/web/web.cmake, and the
// exercise in JavaScript where the lesson has web/answers.js. lessonN.de.html has README.de.md. The site is static
// files without a server's help: it works from any folder, also from file://.
"use strict";
const fs = require("fs"), path = require("path");
const {execFileSync, spawnSync} = require("child_process");

const [build, site] = process.argv.slice(2);
const kScripts = ["worker", "progress", "editor", "exercise", "settings", "hunt", "microscope_page", "page"];
const kFolder = /^0?(\d+[a-z]?)_/;  // 7b of 07b_ppo
const kFolders = fs.readdirSync("lessons").filter((name) => kFolder.test(name)).sort();
const kReport = ["base", "marks", "scales", "clock", "pointer", "curves", "figure", "lesson"];
const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");
const write = (name, text) => fs.writeFileSync(path.join(site, name), text);
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

// The exercise of a lesson for exercise.js: the file as a learner finds it, each check with what its page shows, and
// `elsewhere`, the names of the checks whose pieces have no answer in JavaScript. The program itself tells the checks:
// it grades the file in which every answer is TODO().
function exerciseOf(folder, number, program) {
  const file = path.join("lessons", folder, "web", "answers.js");
  if (!program || !fs.existsSync(file)) return null;
  const text = read(file), mark = /^  \/\/ \[answer (\S+) [^\]]*\]\n([\s\S]*?)^  \/\/ \[end\]$/gm;
  const answers = [...text.matchAll(mark)].map(
      ([whole, id, body], i, all) => ({
        id,
        name: [...text.slice(0, all[i].index).matchAll(/^function (\w+)/gm)].at(-1)[1],
        answer: text.slice(text.lastIndexOf("\nfunction ", all[i].index) + 1, all[i].index) + body + "}\n"
      }));
  const stub = text.replace(mark, "  TODO();"), stubFile = path.join(build, `exercise${number}.js`);
  fs.writeFileSync(stubFile, stub);
  const words = ["tools/web/run.js", program, stubFile, "check", "--events", "--no-fork"];
  const run = spawnSync("node", words, {encoding: "utf8", maxBuffer: 1 << 26});
  const rows = run.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((r) => r.type === "check");
  const checks = [], elsewhere = [];
  for (const {id, title, piece, section, why, hints} of rows) {
    const ids = rows.filter((row) => row.piece === piece).map((row) => row.id);  // one answer for all of its checks
    const own = answers.filter((answer) => ids.includes(answer.id));
    const functions = own.map((a) => a.name), answer = own.map((a) => a.answer).join("");
    own.length ? checks.push({id, title, section, why, hints, functions, answer}) : elsewhere.push(`${id} (${title})`);
  }
  if (checks.length === 0) throw new Error(`${program} grades nothing: ${run.stderr.slice(0, 500)}`);
  for (const {id} of answers) {
    if (!rows.some((row) => row.id === id)) throw new Error(`${file}: [answer ${id} ...] is of no check`);
  }
  return {number, stub, checks, elsewhere, engine: read("tools/web/engine.js")};
}

// The program with a lesson's mistakes, where it has a hunt.
const mutantsOf = (number) => path.join(build, `lesson${number}_mutants.js`);
const hasHunt = (number) => fs.existsSync(mutantsOf(number));

// The languages that a lesson's text may have, English first.
const kLanguages = {
  en: "English",
  de: "Deutsch",
  es: "Español",
  zh: "中文"
};
const textFile = (folder, language) =>
    path.join("lessons", folder, language === "en" ? "README.md" : `README.${language}.md`);
const pageFile = (number, language) => `lesson${number}${language === "en" ? "" : "." + language}.html`;

// What ./lessonN --set can change, as the program tells it.
function settingsOf(program) {
  const words = ["tools/web/run.js", program, "-", "settings", "--json"];
  return program ? JSON.parse(execFileSync("node", words, {encoding: "utf8"})) : [];
}

const kLessons = kFolders.map((folder) => {
  const number = kFolder.exec(folder)[1], text = read("lessons", folder, "README.md");
  const file = path.join(build, `lesson${number}.js`), program = fs.existsSync(file) ? file : null;
  return {
    number,
    texts: Object.fromEntries(Object.keys(kLanguages)
                                  .filter((language) => fs.existsSync(textFile(folder, language)))
                                  .map((language) => [language, read(textFile(folder, language))])),
    title: /^# Lesson \w+: (.*)$/m.exec(text)[1],
    question: text.split("\n\n")[1].replace(/\n/g, " "),
    program,
    exercise: exerciseOf(folder, number, program),
    settings: settingsOf(program),
    hunt: hasHunt(number)
  };
});

// Where a link of a README leads in the site; "" if to none of its pages.
function pageOf(link) {
  if (/^https?:|^#|^lesson\w+\.html$/.test(link)) return link;
  const lesson = /(?:^|\/)0?(\d+[a-z]?)_[a-z_]+\/(?:README\.md)?(#.*)?$/.exec(link);
  if (lesson) return `lesson${lesson[1]}.html${lesson[2] ?? ""}`;
  return /GLOSSARY\.md(#.*)?$/.test(link) ? "glossary.html" : "";
}

// What the glossary says of each of its terms.
const kGlossary = new Map([...read("docs/GLOSSARY.md").matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].flatMap(
    ([, terms, meaning]) => terms.split(", ").map((term) => [term.replace(/ \(.*/, ""), meaning.replaceAll("`", "")])));
// A bold word of a text, which unfolds what the glossary says.
function term(bold, word) {
  const meaning = kGlossary.get(word) ?? kGlossary.get(word.replace(/s$/, ""));
  if (!meaning) return bold;
  return `<button type="button" class="term" aria-expanded="false">${word}</button>` +
      `<span class="meaning" hidden> (${escaped(meaning)})</span>`;
}

// The name that GitHub gives a heading, for links to it.
const anchorOf = (heading) => heading.replace(/<[^>]*>/g, "")
                                  .replace(/&[a-z]+;/g, "")
                                  .toLowerCase()
                                  .replace(/[^\p{L}\p{N} _-]/gu, "")
                                  .replace(/ /g, "-");

// Markdown as HTML. A link to a file that the site has not becomes its text. The command of a check becomes a link to
// the check where the page has it. Only English words are looked up in the glossary.
function html(markdown, exercise = null, language = "en") {
  const ids = new Set(exercise?.checks.map((check) => check.id));
  const made = execFileSync("cmark-gfm", ["-e", "table", "-e", "autolink"], {input: markdown, encoding: "utf8"});
  return made
      .replace(
          /<a href="([^"]*)">([\s\S]*?)<\/a>/g,
          (_, link, text) => (pageOf(link) ? `<a href="${pageOf(link)}">${text}</a>` : text))
      .replace(/<img [^>]*>/g, "")
      .replace(/<(h[2-6])>(.*?)<\/\1>/g, (_, tag, text) => `<${tag} id="${anchorOf(text)}">${text}</${tag}>`)
      .replace(
          /\.\/lesson\w+ check (\d\d\.\d+)/g,
          (command, id) => (ids.has(id) ? `<a href="#check-${id}">${command}</a>` : command))
      .replace(
          /\.\/lesson(\d+[a-z]?) hunt(?! -)/g,
          (command, n) => (hasHunt(n) ? `<a href="hunt${n}.html">${command}</a>` : command))
      .replace(/<strong>([^<]+)<\/strong>/g, language === "en" ? term : "$&")
      .replace(/<table>/g, "<div class=\"scroll\" tabindex=\"0\"><table>")
      .replace(/<\/table>/g, "</table></div>")
      .replace(/<pre>/g, "<pre class=\"block\" tabindex=\"0\">");
}

function nav(current) {
  const entries = kLessons.map(
      (l) => `<a href="lesson${l.number}.html"${l.number === current ? " aria-current=\"page\"" : ""}>${l.number}</a>`);
  return `<nav aria-label="lessons"><a href="index.html">All lessons</a> ${entries.join(" ")} ` +
      "<a href=\"glossary.html\">Glossary</a></nav>";
}

function page(title, current, content, scripts = "", language = "en") {
  return `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="report.css">
<link rel="stylesheet" href="site.css">
</head>
<body>
<a class="skip" href="#main" lang="en">Skip to the content</a>
<header lang="en">${nav(current)}</header>
<main id="main" tabindex="-1">
${content}
</main>
${scripts}
<script src="page.js"></script>
</body>
</html>
`;
}

const kPanel = `<div id="panel" lang="en"><p id="halves" class="row"></p>
<section id="demo" aria-labelledby="demo-title">
<h2 id="demo-title">The demonstration, computed here</h2>
<p class="controls"><button type="button" id="run">Run</button> <button type="button" id="stop" disabled>Stop</button>
<button type="button" id="pause">Pause</button> <button type="button" id="step">One step</button>
<label><input type="checkbox" id="full"> long version</label>
<label hidden><input type="checkbox" id="mine" disabled> with my functions</label>
<span id="status" role="status" class="muted"></span></p>
<div id="settings"></div>
<div id="items"></div>
</section>
<section id="exercise" aria-labelledby="exercise-title" hidden></section></div>`;
const kAbsent =
    `<section id="panel" lang="en"><p class="muted">The demonstration of this lesson needs more than a browser has:
build it with <code>make lessonN &amp;&amp; ./lessonN</code>.</p></section>`;

// A script that sets a global of the page.
function writeGlobal(name, global, value) {
  write(name, `globalThis.${global} = ${JSON.stringify(value).replace(/\u2028/g, "\\u2028")};\n`);
  return `<script src="${name}"></script>`;
}

function lessonPage(lesson) {
  const name = `lesson${lesson.number}`, panel = lesson.program ? kPanel : kAbsent.replaceAll("lessonN", name);
  let scripts = "";
  if (lesson.program) {
    scripts += writeGlobal(`${name}.program.js`, "policygradProgram", fs.readFileSync(lesson.program, "utf8"));
  }
  if (lesson.settings.length > 0) {
    scripts += writeGlobal(`${name}.settings.js`, "policygradSettings", lesson.settings);
  }
  if (lesson.exercise) scripts += writeGlobal(`${name}.exercise.js`, "policygradExercise", lesson.exercise);
  const languages = Object.keys(lesson.texts);
  for (const [language, text] of Object.entries(lesson.texts)) {
    const others =
        languages.filter((other) => other !== language)
            .map((other) => `<a href="${pageFile(lesson.number, other)}" lang="${other}">${kLanguages[other]}</a>`);
    const top = others.length ? `<p>${others.join(" · ")}</p>\n` : "";
    // In a page, `top` stands in place of README.md's line of links to the other languages.
    const shown = text.replace(/^(# .*)\n(?=\[Deutsch\]).*\n/, "$1\n").replaceAll("](README.md)", `](${name}.html)`);
    const title = language === "en" ? `Lesson ${lesson.number}: ${lesson.title}` : /^# (.*)$/m.exec(text)[1];
    write(
        pageFile(lesson.number, language),
        page(
            title, lesson.number,
            `${top}<p class="down" lang="en"><a href="#panel">To the demonstration${
                lesson.exercise ? " and your functions" : ""}</a></p>
<div class="sides"><article>\n${html(shown, lesson.exercise, language)}</article>\n${panel}</div>`,
            scripts, language));
  }
}

// The pages of a lesson's mistakes: one that asks, and the list of all.
function mistakePages({number, title}) {
  const mutants = mutantsOf(number);
  const name = `lesson${number}`, about = `Lesson ${number}: ${title}`;
  const program = writeGlobal(`hunt${number}.program.js`, "policygradProgram", fs.readFileSync(mutants, "utf8"));
  write(
      `hunt${number}.html`,
      page(
          `What is broken here? ${about}`, 0, `<h1>What is broken here?</h1>
<p>One of the functions of <a href="${name}.html">lesson ${number}</a> has a mistake. The page trains with it and shows
what an engineer would see: the curves, each over the band of ten trainings without the mistake. You name the cause.
<a href="mistakes${number}.html">All mistakes that its checks know</a></p>
<div id="hunt" data-lesson="${number}"></div>`,
          program));
  const words = ["tools/web/run.js", mutants, "-", "page"];
  const text = execFileSync("node", words, {encoding: "utf8", maxBuffer: 1 << 26});
  write(`mistakes${number}.html`, page(`Mistakes of ${about}`, 0, html(text)));
}

const kMicroscope = [path.join(build, "microscope.js")].find((file) => fs.existsSync(file));
const kMicroscopeText = `<h1>The policy gradient under a microscope</h1>
<p>A prompt, its responses, their rewards, and what each token is taught by them: one step of a run, with all numbers
computed here by the engine. Choose an algorithm, move its constants, go through the optimizer steps, or compare two
algorithms on the same responses. <code>./pg rl --record-step 30</code> records a step of your own run; the file opens
here and stays in this browser.</p>
<div id="microscope"><p class="muted">The engine is loading.</p></div>`;

fs.mkdirSync(site, {recursive: true});
fs.copyFileSync("tools/report/report.css", path.join(site, "report.css"));
fs.copyFileSync("tools/web/site.css", path.join(site, "site.css"));
const scripts =
    [...kReport.map((name) => `tools/report/${name}.js`), ...kScripts.map((name) => `tools/web/${name}.js`)];
write("page.js", "(() => {\n\"use strict\";\n" + scripts.map((name) => read(name)).join("") + "})();\n");
kLessons.forEach(lessonPage);
const kHunted = kLessons.filter((lesson) => lesson.hunt);
kHunted.forEach(mistakePages);
if (kMicroscope) {
  const scripts = writeGlobal("microscope.program.js", "policygradProgram", fs.readFileSync(kMicroscope, "utf8")) +
      writeGlobal("microscope.step.js", "policygradStep", JSON.parse(read("tools/web/step.json")));
  write("microscope.html", page("The policy gradient under a microscope", 0, kMicroscopeText, scripts));
}
write("glossary.html", page("Glossary", 0, html(read("docs/GLOSSARY.md"))));
const rows = kLessons.map(
    (l) => `<li><a href="lesson${l.number}.html">Lesson ${l.number}: ${escaped(l.title)}</a>` +
        `${html(l.question)}<span class="muted" id="progress${l.number}">${l.program ? "" : "text only"}</span></li>`);
const inWords = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");
const totals = Object.fromEntries(kLessons.filter((l) => l.exercise).map((l) => [l.number, l.exercise.checks.length]));
write(
    "index.html",
    page(
        "policygrad: the course", 0,
        `<h1>policygrad: from a + b to GRPO</h1>
<p>${kLessons.length} lessons. Where nothing else is said, the demonstration runs in the lesson's page: nothing is
installed, and nothing leaves your browser. In lessons ${inWords(Object.keys(totals))} you write the functions in the
page, too. For all others, clone the repository and type <code>make lesson1 &amp;&amp; ./lesson1</code>.</p>
<p id="progress" data-totals="${escaped(JSON.stringify(totals))}"></p>
${
            kMicroscope ?
                "<p><a href=\"microscope.html\">The policy gradient under a microscope</a>: one step, token by token</p>" :
                ""}
${
            kHunted.length ?
                `<p>What is broken here? A training with one hidden mistake, and five causes to choose from: ${
                    kHunted.map((l) => `<a href="hunt${l.number}.html">lesson ${l.number}</a>`).join(", ")}. ` +
                    `All mistakes, with what each check says of them: ${
                        kHunted.map((l) => `<a href="mistakes${l.number}.html">lesson ${l.number}</a>`)
                            .join(", ")}</p>` :
                ""}
<ol class="lessons">\n${rows.join("\n")}\n</ol>`));
console.log(`${site}/index.html: ${kLessons.length} lessons, ${kLessons.filter((l) => l.program).length} that run`);
