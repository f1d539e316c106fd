// The engine for a learner's JavaScript, in the worker beside a lesson's program: tensors, the operations of
// tools/web/operations.cpp, and the learner's functions, which tools/web/engine.cpp calls by name.
globalThis.policygrad = (() => {
  "use strict";
  class Refusal extends Error {}  // an error of the engine, or one that the learner reports with fail()
  class Todo extends Error {}

  function operate(name, ...args) {
    const result = Module.operate(name, args);
    if (result.error !== undefined) throw new Refusal(result.error);
    return result.value;
  }

  class Tensor {
    constructor(id, shape, dtype, requiresGrad) {
      Object.assign(this, {id, shape: [...shape], dtype, requires_grad: requiresGrad});
      Object.freeze(this.shape);
      Object.freeze(this);
    }
    get rank() {
      return this.shape.length;
    }
    get numel() {
      return this.shape.reduce((product, size) => product * size, 1);
    }
    size(dim) {
      return this.shape.at(dim);
    }
    toString() {
      return operate("text", this);
    }
  }
  class Grads {
    constructor(id) {
      this.id = id;
    }
    wants(input) {
      return operate("wants", this, input);
    }
    pass(input, gradient) {
      operate("pass", this, input, gradient);
    }
  }

  function kindOf(value) {
    if (value === undefined) return "undefined";
    if (value === null) return "null";
    if (value instanceof Tensor) return "a tensor";
    if (value instanceof Grads) return "gradients";
    if (typeof value === "function") return value.id ? "a function of tensors" : "a function";
    if (Array.isArray(value) || (ArrayBuffer.isView(value) && "length" in value)) return "a list";
    return {number: "a number", string: "a text", boolean: "true or false", bigint: "a BigInt"}[typeof value] ??
        "an object";
  }

  // Bytes as a text: UTF-8, and each byte that is no part of it as the lone surrogate 0xDC00 + byte, as Python's
  // surrogateescape. bytesOf gives the same bytes.
  const kDecoder = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}), kEncoder = new TextEncoder();
  function decoded(bytes) {
    try {
      return kDecoder.decode(bytes);
    } catch {
      return null;
    }
  }
  function textOf(bytes) {
    let text = decoded(bytes);
    if (text !== null) return text;
    text = "";
    for (let i = 0, length; i < bytes.length; i += length) {
      length = bytes[i] < 0xc0 ? 1 : bytes[i] < 0xe0 ? 2 : bytes[i] < 0xf0 ? 3 : 4;
      const character = decoded(bytes.subarray(i, i + length));
      if (character === null) length = 1;
      text += character ?? String.fromCharCode(0xdc00 + bytes[i]);
    }
    return text;
  }
  function bytesOf(text) {
    if (!/\p{Surrogate}/u.test(text)) return kEncoder.encode(text);
    return Uint8Array.from([...text].flatMap((character) => {
      const code = character.codePointAt(0);
      return code >= 0xdc80 && code <= 0xdcff ? [code - 0xdc00] : [...kEncoder.encode(character)];
    }));
  }

  // What a learner's code may use beside the operations.
  const kTools = {
    TODO() {
      throw new Todo();
    },
    fail(text) {
      throw new Refusal(String(text));
    },
    no_grad(f) {
      operate("grad_off");
      try {
        return f();
      } finally {
        operate("grad_on");
      }
    },
    print(...values) {
      Module.print(JSON.stringify({type: "printed", text: values.map(shown).join(" ")}));
    }
  };
  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Tensor || typeof value !== "object" || value === null) return String(value);
    return JSON.stringify(value, (_, part) => {
      if (ArrayBuffer.isView(part)) return [...part];
      const inWords = part instanceof Tensor || typeof part === "bigint" || part === undefined;
      return inWords || (typeof part === "number" && !Number.isFinite(part)) ? String(part) : part;
    });
  }

  let find = () => undefined;
  let operations = {};
  let firstLine = 0;  // the lines that stand before the learner's own
  const kFile = "exercise.js";
  const lineOf = (error) => {
    const at = new RegExp(`${kFile}:(\\d+)`).exec(error?.stack ?? "");
    return at ? Number(at[1]) - firstLine : 0;
  };
  // What was thrown, which need be no Error: {error, refused}.
  function thrown(error) {
    if (error instanceof WebAssembly.RuntimeError) {  // the program cannot go on
      throw new Error(`the program's memory ran out or was overwritten (${error.message})`);
    }
    try {
      const refused = error instanceof Refusal, line = lineOf(error), text = refused ? error.message : String(error);
      return {error: line > 0 ? `${text} (line ${line})` : text, refused};
    } catch {
      return {error: "something was thrown that is no text", refused: false};
    }
  }
  const compile = (names, text) => new Function(...names, `"use strict";{\n${text}\n}\n//# sourceURL=${kFile}`);

  return {
    kindOf,
    // The place of the first value of a list that is no number; -1 if there is none.
    placeOfOther(list) {
      return list instanceof Float64Array ? -1 : Array.prototype.findIndex.call(list, (one) => typeof one !== "number");
    },
    textOf,
    bytesOf,
    makeTensor: (id, shape, dtype, requiresGrad) => new Tensor(id, shape, dtype, requiresGrad),
    makeGrads: (id) => new Grads(id),
    makeFunction(id) {
      const f = (tensors) => operate("apply", f, tensors instanceof Tensor ? [tensors] : tensors);
      return Object.assign(f, {id});
    },
    // Reads the learner's file. Throws a SyntaxError where it is no JavaScript.
    load(text) {
      operations = {...kTools};
      for (const form of Module.operations()) {
        const name = form.slice(0, form.indexOf("("));
        operations[name] = (...args) => operate(name, ...args);
        Tensor.prototype[name] = function(...args) {
          return operate(name, this, ...args);
        };
      }
      const names = Object.keys(operations).filter((name) => name !== "var");  // a word of JavaScript: x.var(dims)
      const values = [operations, ...names.map((name) => operations[name])];
      names.unshift("pg");
      try {
        compile(names, "throw new Error();")(...values);
      } catch (error) {
        firstLine = lineOf(error) - 1;
      }
      const lookUp = "return (policygradName) => { try { return eval(policygradName); } catch { return undefined; } };";
      find = compile(names, `${text}\n${lookUp}`)(...values);
    },
    // Calls a function of the learner's: {value}, {todo: true}, or {error, refused}.
    run(name, args) {
      try {
        const f = find(name);
        if (typeof f !== "function" || f === operations[name]) {
          throw new Refusal(`${name}: the file has no function of this name`);
        }
        return {value: f(...args)};
      } catch (error) {
        if (error instanceof Todo) return {todo: true};
        return thrown(error);
      }
    }
  };
})();
