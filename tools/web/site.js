// Makes the pages of the course that run in a browser: node tools/web/site.js BUILD_FOLDER SITE_FOLDER, from the
// repository's root. A page has a lesson's README, as cmark-gfm renders it, and its program of tools/web/web.cmake. The
// site is static files without a server's help: it works from any folder, also from file://.
"use strict";
const fs = require("fs"), path = require("path");
const {execFileSync} = require("child_process");

const [build, site] = process.argv.slice(2);
const kReport = ["base", "marks", "scales", "clock", "pointer", "curves", "lesson"];
const kFolders = fs.readdirSync("lessons").filter((name) => /^\d\d_/.test(name)).sort();
const numberOf = (folder) => Number(folder.slice(0, 2));
const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");
const write = (name, text) => fs.writeFileSync(path.join(site, name), text);
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

const kLessons = kFolders.map((folder) => {
  const number = numberOf(folder), text = read("lessons", folder, "README.md");
  const program = path.join(build, `lesson${number}.js`);
  return {
    number,
    text,
    title: /^# Lesson \d+: (.*)$/m.exec(text)[1],
    question: text.split("\n\n")[1].replace(/\n/g, " "),
    program: fs.existsSync(program) ? program : null
  };
});

// Where a link of a README leads in the site; "" if to none of its pages.
function pageOf(link) {
  if (/^https?:/.test(link) || link.startsWith("#")) return link;
  const lesson = /(?:^|\/)(\d\d)_[a-z_]+\/(?:README\.md)?(#.*)?$/.exec(link);
  if (lesson) return `lesson${Number(lesson[1])}.html${lesson[2] ?? ""}`;
  return /GLOSSARY\.md(#.*)?$/.test(link) ? "glossary.html" : "";
}

// Markdown as HTML. A link to a file that the site has not becomes its text.
function html(markdown) {
  const made = execFileSync("cmark-gfm", ["-e", "table", "-e", "autolink"], {input: markdown, encoding: "utf8"});
  return made
      .replace(
          /<a href="([^"]*)">([\s\S]*?)<\/a>/g,
          (_, link, text) => (pageOf(link) ? `<a href="${pageOf(link)}">${text}</a>` : text))
      .replace(/<img [^>]*>/g, "")
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

function page(title, current, content, scripts = "") {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="report.css">
<link rel="stylesheet" href="site.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>${nav(current)}</header>
<main id="main" tabindex="-1">
${content}
</main>
<script src="page.js"></script>
${scripts}
</body>
</html>
`;
}

const kPanel = `<section id="demo" aria-labelledby="demo-title">
<h2 id="demo-title">The demonstration, computed here</h2>
<p class="controls"><button type="button" id="run">Run</button> <button type="button" id="stop" disabled>Stop</button>
<label><input type="checkbox" id="full"> long version</label> <span id="status" role="status" class="muted"></span></p>
<div id="items"></div>
</section>`;
const kAbsent = `<section id="demo"><p class="muted">The demonstration of this lesson needs more than a browser has:
build it with <code>make lessonN &amp;&amp; ./lessonN</code>.</p></section>`;

function lessonPage(lesson) {
  const panel = lesson.program ? kPanel : kAbsent.replaceAll("lessonN", `lesson${lesson.number}`);
  if (lesson.program) {
    const source = JSON.stringify(fs.readFileSync(lesson.program, "utf8")).replace(/\u2028/g, "\\u2028");
    write(`lesson${lesson.number}.program.js`, `globalThis.policygradProgram = ${source};\n`);
  }
  write(
      `lesson${lesson.number}.html`,
      page(
          `Lesson ${lesson.number}: ${lesson.title}`, lesson.number,
          `<div class="sides"><article>\n${html(lesson.text)}</article>\n${panel}</div>`,
          lesson.program ? `<script src="lesson${lesson.number}.program.js"></script>` : ""));
}

fs.mkdirSync(site, {recursive: true});
fs.copyFileSync("tools/report/report.css", path.join(site, "report.css"));
fs.copyFileSync("tools/web/site.css", path.join(site, "site.css"));
const scripts = [...kReport.map((name) => `tools/report/${name}.js`), "tools/web/page.js"];
write("page.js", "(() => {\n\"use strict\";\n" + scripts.map((name) => read(name)).join("") + "})();\n");
kLessons.forEach(lessonPage);
write("glossary.html", page("Glossary", 0, html(read("docs/GLOSSARY.md"))));
const rows = kLessons.map(
    (l) => `<li><a href="lesson${l.number}.html">Lesson ${l.number}: ${escaped(l.title)}</a>` +
        `${html(l.question)}${l.program ? "" : " <span class=\"muted\">(text only)</span>"}</li>`);
write("index.html", page("policygrad: the course", 0, `<h1>policygrad: from a + b to GRPO</h1>
<p>${kLessons.length} lessons. Where nothing else is said, the demonstration runs in the lesson's page: nothing is
installed, and nothing leaves your browser. To write the functions yourself, clone the repository and type
<code>make lesson1 &amp;&amp; ./lesson1</code>.</p>
<ol class="lessons">\n${rows.join("\n")}\n</ol>`));
console.log(`${site}/index.html: ${kLessons.length} lessons, ${kLessons.filter((l) => l.program).length} that run`);
