// Drives headless Chromium through its debugging pipe, with true keys: what a reader with a keyboard alone can do.
"use strict";
const fs = require("fs"), os = require("os"), path = require("path");
const {spawn} = require("child_process");
const {chromium} = require("./browser.js");

const kKeys = {
  Tab: [9, ""],
  Enter: [13, "\r"],
  Space: [32, " "],
  ArrowRight: [39, ""],
  Escape: [27, ""]
};

// Resolves with a page: open(file) loads it, evaluate(script) is the value of an async function with this body,
// press(key, modifiers) presses a key, and errors has what the console said. theme is "light" or "dark".
async function drive(width, theme) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "driver")), waiting = new Map(), errors = [];
  const browser = spawn(
      chromium,
      [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
        `--user-data-dir=${folder}`, "about:blank"
      ],
      {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
  let session, last = 0, text = "", loaded = () => {};
  const receive = ({id, method, params, result, error}) => {
    if (id) {
      const [resolve, reject] = waiting.get(id);
      error ? reject(new Error(error.message)) : resolve(result);
    } else if (method === "Runtime.exceptionThrown") {
      errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled" && params.type === "error") {
      errors.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    } else if (method === "Log.entryAdded" && params.entry.level === "error") {
      errors.push(params.entry.text);
    } else if (method === "Page.loadEventFired") {
      loaded();
    }
  };
  browser.stdio[4].on("data", (part) => {
    const messages = (text + part).split("\0");
    text = messages.pop();
    messages.forEach((message) => receive(JSON.parse(message)));
  });
  const call = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++last, [resolve, reject]);
    browser.stdio[3].write(JSON.stringify({id: last, method, params, sessionId: session}) + "\0");
  });
  const {targetInfos} = await call("Target.getTargets");
  const {targetId} = targetInfos.find((target) => target.type === "page");
  session = (await call("Target.attachToTarget", {targetId, flatten: true})).sessionId;
  for (const domain of ["Page", "Runtime", "Log"]) await call(`${domain}.enable`);
  const size = {width, height: 1400, deviceScaleFactor: 1, mobile: false};
  await call("Emulation.setDeviceMetricsOverride", size);
  await call("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: theme}]});
  return {
    errors,
    async open(file) {
      const end = new Promise((resolve) => (loaded = resolve));
      await call("Page.navigate", {url: `file://${path.resolve(file)}`});
      await end;
    },
    async evaluate(script) {
      const expression = `(async () => {
        const until = async (condition) => {
          while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
          return condition();
        };
        ${script}
      })()`;
      const {result, exceptionDetails} =
          await call("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async press(key, modifiers = 0) {
      const [windowsVirtualKeyCode, typed] = kKeys[key] ?? [key.toUpperCase().charCodeAt(0), key];
      const event = {key: key === "Space" ? " " : key, code: key, windowsVirtualKeyCode, modifiers};
      await call("Input.dispatchKeyEvent", {type: typed ? "keyDown" : "rawKeyDown", text: typed, ...event});
      await call("Input.dispatchKeyEvent", {type: "keyUp", ...event});
    },
    close() {
      browser.kill("SIGKILL");
      return new Promise((resolve) => browser.on("exit", () => {
        fs.rmSync(folder, {recursive: true, force: true});
        resolve();
      }));
    }
  };
}

module.exports = {drive};
