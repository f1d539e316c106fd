// Opens a page of the site in headless Chromium, from file:// as a reader does, and runs a script in it.
"use strict";
const fs = require("fs"), http = require("http"), os = require("os"), path = require("path");
const {spawn} = require("child_process");

const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
    (name) => process.env.PATH.split(":").some((folder) => fs.existsSync(path.join(folder, name))));
if (!chromium) {
  console.log("skipped: web: no chromium\n0 passed, 0 failed, 1 skipped");
  process.exit(0);
}

// The script runs as an async function with until(condition), which waits, and tells the server its result. The picture
// of the page is taken at its load event, which an image holds back until then.
const kScript = (port, script) => `
(async () => {
  const until = async (condition) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
    return condition();
  };
  ${script}
})().catch((error) => ({error: error.stack})).then((seen) => {
  fetch("http://127.0.0.1:${port}/seen", {method: "POST", mode: "no-cors", body: JSON.stringify(seen)});
});`;

// Resolves with {seen, errors}: what the script returned, null if that took longer than `seconds`, and the lines of the
// page's console. options: picture, a file for the page's picture; profile, a folder that keeps the browser's memory.
function open(site, name, width, seconds, script, options = {}) {
  return new Promise((resolve) => {
    const held = [], errors = [], own = fs.mkdtempSync(path.join(os.tmpdir(), "browser"));
    let seen = null;
    const server = http.createServer((request, response) => {
      if (request.url === "/seen") {
        let text = "";
        request.on("data", (part) => (text += part));
        request.on("end", () => {
          seen = JSON.parse(text);
          held.forEach((r) => r.end());
          response.end();
        });
      } else if (seen) {
        response.end();
      } else {
        held.push(response);
      }
    });
    server.listen(0, "127.0.0.1", () => {
      const port = server.address().port, [file, hash] = name.split("#"),
            copy = path.join(site, `_${process.pid}_${file}`);
      const hold = `<img src="http://127.0.0.1:${port}/hold" alt="" hidden loading="eager">`;
      fs.writeFileSync(
          copy,
          fs.readFileSync(path.join(site, file), "utf8")
              .replace("</body>", () => `${hold}<script>${kScript(port, script)}</script></body>`));
      const browser = spawn(chromium, [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", `--window-size=${width},1400`,
        "--enable-logging=stderr", `--user-data-dir=${options.profile ?? path.join(own, "profile")}`,
        `--screenshot=${options.picture ?? path.join(own, "page.png")}`,
        `file://${path.resolve(copy)}${hash ? "#" + hash : ""}`
      ]);
      browser.stderr.on("data", (text) => {
        for (const line of String(text).split("\n")) {
          if (line.includes("CONSOLE")) errors.push(line);
        }
      });
      const timer = setTimeout(() => browser.kill("SIGKILL"), 1000 * seconds);
      browser.on("exit", () => {
        clearTimeout(timer);
        fs.rmSync(copy);
        fs.rmSync(own, {recursive: true, force: true});
        server.close();
        resolve({seen, errors});
      });
    });
  });
}

// Counts what holds, and prints what does not.
const count = {
  passed: 0,
  failed: 0,
  check(ok, what) {
    ok ? ++count.passed : ++count.failed;
    if (!ok) console.log(`FAILED  ${what}`);
  },
  end() {
    console.log(`${count.passed} passed, ${count.failed} failed, 0 skipped`);
    process.exitCode = count.failed || !count.passed ? 1 : 0;
  }
};

module.exports = {
  chromium,
  open,
  count
};
