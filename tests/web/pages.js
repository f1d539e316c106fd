// Opens the course's pages in Chromium from file://, as a reader would: node tests/web/pages.js SITE [PICTURES]. Each
// demonstration must run to its end with all claims true. No page may be wider than the window, write an error to the
// console or have a link that leads nowhere. With a folder PICTURES, each page's picture is kept there.
"use strict";
const fs = require("fs"), http = require("http"), os = require("os"), path = require("path");
const {spawn} = require("child_process");

const [site, pictures] = process.argv.slice(2);
const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
    (name) => process.env.PATH.split(":").some((folder) => fs.existsSync(path.join(folder, name))));
if (!chromium) {
  console.log("skipped: web: no chromium\n0 passed, 0 failed, 1 skipped");
  process.exit(0);
}
const kWidths = [390, 1280, 1920], kSeconds = 240;

// In the page: clicks Run and tells the server what it saw. The picture of the page is taken at its load event, which
// an image holds back until then.
const kScript = (port) => `
(() => {
  const root = document.documentElement, run = document.getElementById("run");
  run?.click();
  const wait = () => {
    if (run && !root.dataset.ran) return setTimeout(wait, 200);
    const seen = {ran: root.dataset.ran ?? "text", wide: root.scrollWidth - innerWidth,
                  links: [...document.querySelectorAll("main a")].map((a) => a.getAttribute("href"))};
    new Image().src = "http://127.0.0.1:${port}/seen/" + encodeURIComponent(JSON.stringify(seen));
  };
  wait();
})();`;

function open(name, width) {
  return new Promise((resolve) => {
    const held = [], errors = [];
    let seen = null;
    const server = http.createServer((request, response) => {
      if (request.url.startsWith("/seen/")) {
        seen = JSON.parse(decodeURIComponent(request.url.slice(6)));
        held.forEach((r) => r.end());
        response.end();
      } else if (seen) {
        response.end();
      } else {
        held.push(response);
      }
    });
    server.listen(0, "127.0.0.1", () => {
      const port = server.address().port, copy = path.join(site, `_${process.pid}_${name}`);
      const hold = `<img src="http://127.0.0.1:${port}/hold" alt="" hidden loading="eager">`;
      fs.writeFileSync(
          copy,
          fs.readFileSync(path.join(site, name), "utf8")
              .replace("</body>", `${hold}<script>${kScript(port)}</script></body>`));
      const picture = path.join(pictures ?? os.tmpdir(), `${process.pid}_${name}_${width}.png`);
      const browser = spawn(chromium, [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", `--window-size=${width},1400`,
        "--enable-logging=stderr", `--screenshot=${picture}`, `file://${path.resolve(copy)}`
      ]);
      browser.stderr.on("data", (text) => {
        for (const line of String(text).split("\n")) {
          if (line.includes("CONSOLE")) errors.push(line);
        }
      });
      const timer = setTimeout(() => browser.kill("SIGKILL"), 1000 * kSeconds);
      browser.on("exit", () => {
        clearTimeout(timer);
        fs.rmSync(copy);
        if (!pictures) fs.rmSync(picture, {force: true});
        server.close();
        resolve({seen, errors});
      });
    });
  });
}

(async () => {
  let passed = 0, failed = 0;
  const check = (ok, what) => {
    ok ? ++passed : ++failed;
    if (!ok) console.log(`FAILED  ${what}`);
  };
  const names = fs.readdirSync(site).filter((name) => /^[a-z0-9]+\.html$/.test(name));
  for (const name of names) {
    const runs = fs.existsSync(path.join(site, name.replace(".html", ".program.js")));
    for (const width of runs ? kWidths.slice(0, 1) : kWidths) {
      const {seen, errors} = await open(name, width);
      check(seen, `${name}: no end after ${kSeconds} s`);
      if (!seen) continue;
      check(!runs || /all hold/.test(seen.ran), `${name}: ${seen.ran}`);
      check(seen.wide <= 0, `${name} is ${seen.wide} pixels too wide at ${width}`);
      check(errors.length === 0, `${name}: ${errors[0]}`);
      for (const link of seen.links) {
        const ok = /^(https?:|#)/.test(link) || fs.existsSync(path.join(site, link.split("#")[0]));
        check(ok, `${name} links to ${link}, which is not in the site`);
      }
    }
  }
  console.log(`${passed} passed, ${failed} failed, 0 skipped`);
  process.exitCode = failed ? 1 : 0;
})();
