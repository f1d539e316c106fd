// A lesson's page: runs its program in a worker and shows each part of the demonstration as soon as it is there. The
// worker is made of the program's text, because a page from file:// may start none from a file.

const kWorker = `
self.Module = {
  print: (line) => postMessage(line),
  printErr: (line) => postMessage(JSON.stringify({type: "error", text: line})),
  quit: () => {},
  onRuntimeInitialized: () => setTimeout(() => {
    try {
      Module.callMain(self.programArguments);
    } catch (error) {
      postMessage(JSON.stringify({type: "error", text: String(error)}));
    }
  }, 0)
};
`;

function startWorker(words, onItem) {
  const parts = [kWorker, `self.programArguments = ${JSON.stringify(words)};\n`, globalThis.policygradProgram];
  const address = URL.createObjectURL(new Blob(parts, {type: "text/javascript"}));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  worker.onmessage = ({data}) => {
    let item = null;
    try {
      item = JSON.parse(data);
    } catch {
      item = {type: "block", text: data};
    }
    onItem(item);
  };
  worker.onerror = (event) => onItem({type: "error", text: event.message});
  return worker;
}

// Shows the items of a demonstration below one another. Neighbouring blocks become one.
class Items {
  constructor(box) {
    this.box = box;
    this.block = null;
    this.claims = 0;
    this.failed = 0;
  }
  show(item) {
    if (item.type === "block" && this.block) {
      this.block.append("\n" + item.text);
      return;
    }
    const element = Object.hasOwn(kItems, item.type) ? kItems[item.type](item) : null;
    if (!element) return;
    this.block = item.type === "block" ? element : null;
    if (item.type === "heading") element.id = "part" + (this.box.querySelectorAll("h2").length + 1);
    if (item.type === "claim") {
      ++this.claims;
      this.failed += item.pass ? 0 : 1;
    }
    add(this.box, [element]);
  }
}

function demonstration() {
  const button = (id) => document.getElementById(id), run = button("run"), stop = button("stop"), full = button("full");
  const status = button("status"), box = button("items");
  let worker = null, begin = 0, clock = 0;
  const end = (text) => {
    worker?.terminate();
    worker = null;
    clearInterval(clock);
    run.disabled = full.disabled = false;
    stop.disabled = true;
    status.textContent = text;
    document.documentElement.dataset.ran = text;
  };
  stop.addEventListener("click", () => end("stopped"));
  run.addEventListener("click", () => {
    replace(box);
    const items = new Items(box);
    let doing = "";
    begin = performance.now();
    run.disabled = full.disabled = true;
    stop.disabled = false;
    delete document.documentElement.dataset.ran;
    const tick = () => (status.textContent = `${((performance.now() - begin) / 1000).toFixed(0)} s ${doing}`);
    clock = setInterval(tick, 250);
    tick();
    worker = startWorker(["--events", ...(full.checked ? ["--full"] : [])], (item) => {
      if (item.type === "status") {
        doing = item.text;
      } else if (item.type === "error") {
        end(`The program stopped: ${item.text}`);
      } else if (item.type === "end") {
        end(`${plural(items.claims, "claim")}, ${items.failed ? items.failed + " failed" : "all hold"}; ` +
            `${item.seconds.toFixed(1)} s in this browser`);
      } else {
        items.show(item);
      }
    });
  });
}

function chooseTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
chooseTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", chooseTheme);
if (document.getElementById("run")) demonstration();
