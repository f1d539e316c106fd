// Makes one script of what emscripten writes: node tools/web/pack.js PROGRAM.js. PROGRAM.wasm goes into it,
// compressed by gzip, as base64; the browser expands it.
"use strict";
const fs = require("fs"), zlib = require("zlib");

const program = process.argv[2], code = program.replace(/js$/, "wasm");
const packed = zlib.gzipSync(fs.readFileSync(code), {level: 9}).toString("base64");
fs.writeFileSync(program, `Module.instantiateWasm = (imports, receive) => {
  const bytes = Uint8Array.from(atob("${packed}"), (c) => c.charCodeAt(0));
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")))
      .arrayBuffer()
      .then((code) => WebAssembly.instantiate(code, imports))
      .then(({instance, module}) => receive(instance, module))
      .catch((error) => setTimeout(() => { throw error; }));
  return {};
};
${fs.readFileSync(program, "utf8")}`);
