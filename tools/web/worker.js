// A lesson's program in a worker, so that the page never freezes. The worker is made of the program's text, because a
// page from file:// may start none from a file. It also has the engine for a learner's JavaScript where the lesson has
// an exercise (engine.js).

const kWorker = `
const send = (item) => postMessage(JSON.stringify(item));
self.Module = {
  print: (line) => postMessage(line),
  printErr: (text) => send({type: "error", text}),
  quit: () => {},
  onRuntimeInitialized: () => setTimeout(() => send({type: "ready", operations: Module.operations?.() ?? []}), 0)
};
self.onmessage = ({data}) => {
  try {
    if (data.code !== null) policygrad.load(data.code);
  } catch (error) {
    return send({type: "unreadable", text: String(error)});
  }
  try {
    Module.callMain(data.words);
    send({type: "done"});
  } catch (error) {
    send({type: "error", text: String(error)});
  }
};
`;

function workerOf(parts) {
  const address = URL.createObjectURL(new Blob(parts, {type: "text/javascript"}));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}

// The program, loaded and ready to run once. onItem receives each item that it sends: "ready" with the forms of the
// operations, those that the program prints, "done" at the end, "error" where it stops otherwise, "unreadable" where
// the learner's text is no JavaScript.
class Program {
  constructor(onItem) {
    this.ready = false;
    this.waiting = null;
    this.onItem = onItem;
    this.worker = workerOf([kWorker, globalThis.policygradExercise?.engine ?? "", "\n", globalThis.policygradProgram]);
    this.worker.onmessage = ({data}) => this.receive(data);
    this.worker.onerror = (event) => this.onItem({type: "error", text: event.message});
  }
  receive(data) {
    let item = null;
    try {
      item = JSON.parse(data);
    } catch {
      item = {type: "block", text: data};
    }
    if (item.type === "ready") {
      this.ready = true;
      if (this.waiting) this.worker.postMessage(this.waiting);
    }
    this.onItem(item);
  }
  // Calls the program with the arguments `words`, and the learner's text, or null for none.
  run(words, code = null) {
    const message = {words, code};
    if (this.ready) {
      this.worker.postMessage(message);
    } else {
      this.waiting = message;
    }
  }
  end() {
    this.worker.terminate();
  }
}

// The line of a syntax error in `code`: resolves with {line, text}, or null if no browser names one. Only a script that
// a browser loads has the line; the text stands in a function that nobody calls.
function syntaxError(code) {
  return new Promise((resolve) => {
    const worker = workerOf([`(function() {"use strict";{\n${code}\n}});postMessage("");`]);
    const end = (result) => {
      worker.terminate();
      resolve(result);
    };
    worker.onmessage = () => end(null);
    worker.onerror = (event) => {
      event.preventDefault();
      end(event.lineno > 1 ? {line: event.lineno - 1, text: event.message.replace(/^Uncaught /, "")} : null);
    };
  });
}
