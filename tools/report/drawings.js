// Drawings of problems and answers, a row per task. Each takes the text of the problem, the text of the answer and the
// sample, and returns an element, or null for a text that it cannot read; then the text alone is shown.

const kDrawings = {
  hanoi: drawHanoi,
  countdown: drawCountdown,
  connections: drawConnections,
  adventure: drawAdventure
};

function drawingOf(task, sample) {
  const draw = Object.hasOwn(kDrawings, task) ? kDrawings[task] : null;
  if (!draw) return null;
  return draw(problemText(sample), answerText(sample), sample);
}

const problemText = (s) => textOf(s.problem ?? s.prompt).replace(/=\s*$/, "");

// The part of a response that is its answer: what an evaluation says, or what stands in the last tags or box.
function answerText(sample) {
  if (typeof sample.answer === "string") return sample.answer;
  const text = textOf(sample.response);
  const marked = [...text.matchAll(/<answer>([^]*?)<\/answer>|\\boxed\{([^{}]*)\}/g)].at(-1);
  return marked ? marked[1] ?? marked[2] : text;
}

// ---- hanoi: "121:3", the pegs of the disks from the smallest on and the goal; the answer "13 12 23"

function drawHanoi(problem, answer) {
  const question = /^\s*([123]{1,9}):([123])\s*$/.exec(problem);
  if (!question) return null;
  const states = [[...question[1]].map(Number)], words = ["the start"];
  for (const [move, from, to] of answer.matchAll(/([1-9])\s*([1-9])/g)) {
    const pegs = states.at(-1), disk = pegs.indexOf(Number(from)), under = pegs.indexOf(Number(to));
    if (disk < 0 || Number(to) > 3 || from === to || (under >= 0 && under < disk)) {
      states.push(pegs);
      words.push(`the move ${move} is against the rules: ${
          disk < 0 ? `peg ${from} has no disk` :
              from === to ? "a disk must change its peg" :
                            `disk ${disk + 1} may not lie on a smaller one`}`);
      break;
    }
    states.push(pegs.map((peg, i) => (i === disk ? Number(to) : peg)));
    words.push(`disk ${disk + 1} from peg ${from} to peg ${to}`);
    if (states.length > 300) break;
  }
  return stepper(
      "move", states.length,
      (i) =>
          [hanoiPicture(states[i], Number(question[2])),
           words[i] + (states[i].every((peg) => peg === Number(question[2])) ? "; solved" : "")]);
}

function hanoiPicture(pegs, goal) {
  const n = pegs.length, height = 60 + 18 * n;
  const picture = svg("svg", {
    viewBox: `0 0 420 ${height}`,
    width: 420,
    role: "img",
    "aria-label": `pegs of the disks, the smallest first: ${pegs.join(" ")}`
  });
  for (let peg = 1; peg <= 3; ++peg) {
    const x = 70 + 140 * (peg - 1);
    picture.append(
        svg("path", {class: "shape", d: `M${x} 14V${height - 34}M${x - 62} ${height - 34}H${x + 62}`}),
        svg("text", {class: "strong", x, y: height - 12, "text-anchor": "middle"},
            `peg ${peg}${peg === goal ? ", the goal" : ""}`));
    pegs.map((p, disk) => disk).filter((disk) => pegs[disk] === peg).reverse().forEach((disk, level) => {
      const half = 14 + (46 * (disk + 1)) / n, y = height - 52 - 18 * level;
      picture.append(svg("rect", {class: fillOf(disk), x: x - half, y, width: 2 * half, height: 16, rx: 5}));
    });
  }
  return picture;
}

// ---- countdown: "3,5,7:22" and an expression; its steps with exact fractions

const gcd = (a, b) => {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
};
function fraction(a, b) {
  const d = gcd(a, b) || 1n, sign = b < 0n ? -1n : 1n;
  return {a: (sign * a) / d, b: (sign * b) / d};
}
const fractionText = (f) => (f.b === 1n ? String(f.a) : `${f.a}/${f.b}`);

// The steps of an expression in the order of evaluation, and its value; null for what is no expression.
function countdownSteps(text) {
  const tokens = text.match(/\d+|[-+*/()]/g) ?? [];
  if (tokens.join("") !== text.replace(/\s/g, "") || !tokens.length || tokens.length > 200) return null;
  const steps = [], numbers = [];
  let at = 0;
  const combine = (op, x, y) => {
    if (op === "/" && y.a === 0n) throw new RangeError("division by zero");
    const value = op === "+" ? fraction(x.a * y.b + y.a * x.b, x.b * y.b) :
        op === "-"           ? fraction(x.a * y.b - y.a * x.b, x.b * y.b) :
        op === "*"           ? fraction(x.a * y.a, x.b * y.b) :
                               fraction(x.a * y.b, x.b * y.a);
    steps.push(`${fractionText(x)} ${op} ${fractionText(y)} = ${fractionText(value)}`);
    return value;
  };
  const level = (next, ops) => {
    let value = next();
    while (ops.includes(tokens[at])) {
      const op = tokens[at++];
      value = combine(op, value, next());
    }
    return value;
  };
  const atom = () => {
    const token = tokens[at++];
    if (token === "(") {
      const value = sum();
      if (tokens[at++] !== ")") throw new RangeError("a parenthesis is open");
      return value;
    }
    if (!/^\d{1,30}$/.test(token ?? "")) throw new RangeError("a number is missing");
    numbers.push(token);
    return {a: BigInt(token), b: 1n};
  };
  const product = () => level(atom, ["*", "/"]);
  const sum = () => level(product, ["+", "-"]);
  try {
    const value = sum();
    if (at !== tokens.length) return null;
    return {steps, numbers, value};
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return {steps, numbers, problem: error.message};
  }
}

function drawCountdown(problem, answer) {
  const question = /^\s*(\d+(?:,\d+)*):(\d+)\s*$/.exec(problem);
  if (!question) return null;
  const given = question[1].split(","), result = countdownSteps(answer.replace(/[.\s]+$/, ""));
  const left = [...(result?.numbers ?? [])];
  const chips = given.map((number) => {
    const used = left.indexOf(number);
    if (used >= 0) left.splice(used, 1);
    return el("span", {class: `swatch ${used >= 0 ? "p1" : ""}`}, `${number}${used >= 0 ? " used" : ""}`);
  });
  const say = !result ? el("p", {class: "warn"}, "The answer is no expression.") :
      result.problem  ? el("p", {class: "bad"}, `✗ ${result.problem}`) :
       result.value.b === 1n && String(result.value.a) === question[2] && !left.length ?
                        el("p", {class: "good"}, `✓ ${question[2]}, the target`) :
                        el("p", {class: "bad"},
                          left.length ? `✗ not given or used twice: ${left.join(", ")}` :
                                         `✗ ${fractionText(result.value)}, not ${question[2]}`);
  return el(
      "div", {class: "drawing"},
      el("div", {class: "row"}, "numbers", chips, "target", el("span", {class: "swatch"}, question[2])),
      result?.steps.length ? el("ol", {class: "mono"}, result.steps.map((step) => el("li", {}, step))) : null, say);
}

// ---- connections: sixteen words; the answer has groups of four

function drawConnections(problem, answer) {
  const words = problem.split(",").map((word) => word.trim()).filter(Boolean);
  if (words.length !== 16) return null;
  const groups = answer.split(/[;\n]/).map((g) => g.split(",").map((w) => w.trim().replace(/[.]$/, "").toLowerCase()));
  const letter = (word) =>
      groups.map((g, i) => (g.includes(word.toLowerCase()) ? String.fromCharCode(65 + i) : "")).join("");
  const picture = svg(
      "svg", {viewBox: "0 0 420 180", width: 420, role: "img", "aria-label": "the words and the groups of the answer"});
  words.forEach((word, i) => {
    const x = 5 + 103 * (i % 4), y = 5 + 43 * Math.floor(i / 4), group = letter(word);
    picture.append(
        svg("rect", {class: "zone", x, y, width: 100, height: 40, rx: 5}),
        svg("text", {class: "strong", x: x + 50, y: y + 17, "text-anchor": "middle"}, word.slice(0, 14)),
        svg("text", {x: x + 50, y: y + 33, "text-anchor": "middle"}, group ? `group ${group}` : "in no group"));
    if (group.length === 1)
      picture.append(svg("rect", {class: fillOf(group.charCodeAt(0) - 65), x, y: y + 5, width: 6, height: 30}));
  });
  return picture;
}
