// Runs a lesson's program of build-web in Node.js, as a page's worker does: node tools/web/run.js PROGRAM LEARNER
// ARGUMENTS..., where LEARNER is a file with the learner's JavaScript, or - for none. What the program prints goes to
// the standard output.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");

const [program, learner, ...words] = process.argv.slice(2);
const source = (file) => vm.runInThisContext(fs.readFileSync(file, "utf8"), {filename: path.resolve(file)});
process.on("uncaughtException", (error) => {  // without the line of the program, which has megabytes
  process.stderr.write(`${error.stack}\n`);
  process.exit(70);
});
globalThis.require = require;
globalThis.__dirname = __dirname;
globalThis.Module = {
  print: (line) => process.stdout.write(line + "\n"),
  printErr: (line) => process.stderr.write(line + "\n"),
  quit: (status) => (process.exitCode = status),
  onRuntimeInitialized: () => setImmediate(() => {
    if (learner !== "-") policygrad.load(fs.readFileSync(learner, "utf8"));
    Module.callMain(words);
  })
};
source(path.join(__dirname, "engine.js"));
source(program);
