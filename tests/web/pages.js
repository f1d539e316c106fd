// Opens the course's pages in Chromium: node tests/web/pages.js SITE [PICTURES]. Each demonstration must run to its end
// with all claims true. No page may be wider than the window, write an error to the console or have a link that leads
// nowhere; each drawing is gone through (figures.js). A translation (lesson1.de.html) has the same demonstration, which
// does not run again. With a folder PICTURES, each page's picture is kept there.
"use strict";
const fs = require("fs"), path = require("path");
const {open, count} = require("./browser.js");

const [site, pictures] = process.argv.slice(2);
const kWidths = [390, 1280, 1920], kSeconds = 240;
const kTranslation = /\.(\w\w)\.html$/;
const kVisit = fs.readFileSync(path.join(__dirname, "figures.js"), "utf8") + `
  const root = document.documentElement, run = root.lang === "en" ? document.getElementById("run") : null;
  run?.click();
  if (run) await until(() => root.dataset.ran);
  return {...lookAtFigures(), ran: root.dataset.ran ?? "text", language: root.lang, wide: root.scrollWidth - innerWidth,
          links: [...document.querySelectorAll("main a")].map((a) => a.getAttribute("href"))};`;

(async () => {
  const names = fs.readdirSync(site).filter((name) => /^[a-z0-9]+(\.[a-z][a-z])?\.html$/.test(name));
  let frames = 0;
  for (const name of names) {
    const runs = name.startsWith("lesson") && fs.existsSync(path.join(site, name.replace(".html", ".program.js")));
    const language = kTranslation.exec(name)?.[1] ?? "en", once = runs || !["en", "de"].includes(language);
    for (const width of once ? kWidths.slice(0, 1) : kWidths) {
      const picture = pictures && path.join(pictures, `${name}_${width}.png`);
      const {seen, errors} = await open(site, name, width, kSeconds, kVisit, {picture});
      count.check(seen && !seen.error, `${name}: ${seen?.error ?? `no end after ${kSeconds} s`}`);
      if (!seen || seen.error) continue;
      count.check(!runs || /all hold/.test(seen.ran), `${name}: ${seen.ran}`);
      count.check(seen.language === language, `${name} says that its language is ${seen.language}`);
      count.check(seen.wide <= 0, `${name} is ${seen.wide} pixels too wide at ${width}`);
      count.check(errors.length === 0, `${name}: ${errors[0]}`);
      count.check(seen.wrong.length === 0, `${name}: ${seen.wrong[0]}`);
      frames += seen.frames;
      for (const link of seen.links) {
        const ok = /^(https?:|#)/.test(link) || fs.existsSync(path.join(site, link.split("#")[0]));
        count.check(ok, `${name} links to ${link}, which is not in the site`);
      }
    }
  }
  console.log(`${frames} frames of drawings`);
  count.end();
})();
