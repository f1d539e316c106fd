// Lesson 10: rewards that can be verified. Replace each TODO(), then press
// Check.
// What you read comes from a model: any text, of any length. One that is wrong
// is no error, it earns nothing. A whole number may have 64 bits, so it is a
// BigInt: 3n, BigInt("42"), 2n ** 63n - 1n, and Number(3n) is 3. The engine's
// own functions are pg.read_expression, pg.same_number and so on.

// The value of "8-(3-2)*1", and its numbers in the order of the text. * and /
// before + and -, from left to right. It may have whole numbers without leading
// zeros ("0" is one), + - * / ( ), and spaces around them (no tabs). null for
// any other text, such as "", "-3+5" (a sign), "5 3", "2(3)", "05", "1+2=3",
// for a division by zero and for a number that does not fit in 64 bits (more
// than 2n ** 63n - 1n). The result is {value, numbers}, numbers a list of
// BigInts. A value is a fraction {numerator, denominator} of BigInts:
// combined(a, op, b) computes a op b of two of them, and is null where it
// cannot. Each number, operator and parenthesis that is read is a step: null
// for a text of more than `steps`. So the recursion cannot become deep either.
// Functions inside of the function may call each other.
function read_expression(text, steps) {
  // [answer 10.1 read_expression]
  const numbers = [];
  let at = 0;
  // The next character that is no space; "" at the end.
  const next = () => {
    while (text[at] === " ") ++at;
    return text[at] ?? "";
  };
  // Goes past a character. False if that is a step too many.
  const take = () => {
    ++at;
    return --steps >= 0;
  };
  // Parts with operators between them, from left to right.
  const chain = (operators, part) => {
    let value = part();
    while (value !== null && operators.includes(next())) {
      const op = text[at];
      if (!take()) return null;
      const right = part();
      if (right === null) return null;
      value = combined(value, op, right);
    }
    return value;
  };
  const sum = () => chain(["+", "-"], product);
  const product = () => chain(["*", "/"], factor);
  const factor = () => {
    if (next() === "(") {
      if (!take()) return null;
      const value = sum();
      return value !== null && next() === ")" && take() ? value : null;
    }
    let end = at;
    while (text[end] >= "0" && text[end] <= "9") ++end;
    const digits = text.slice(at, end);
    if (--steps < 0 || digits === "" || (digits.length > 1 && digits[0] === "0")) return null;
    const number = BigInt(digits);
    if (number > 2n ** 63n - 1n) return null;
    at = end;
    numbers.push(number);
    return {numerator: number, denominator: 1n};
  };
  const value = sum();
  return value !== null && next() === "" ? {value, numbers} : null;
  // [end]
}

// The reward of an answer to the puzzle "make `target` of `numbers`, each at
// most once" (`all`: each exactly once). A number that is given twice may be
// used twice. 1 if the answer is an expression whose exact value is the target;
// near / (1 + |value - target|) if it has another value; 0 if it is no
// expression or breaks the rules. pg.read_expression(answer) gives .value, a
// fraction, and .numbers, or null. target and numbers are BigInts, so the
// comparison can be exact: numerator === target * denominator.
function countdown_reward(answer, numbers, target, all, near) {
  // [answer 10.2 countdown_reward]
  const read = pg.read_expression(answer);
  if (read === null) return 0;
  const left = [...numbers];
  for (const number of read.numbers) {
    const place = left.indexOf(number);
    if (place < 0) return 0;
    left.splice(place, 1);
  }
  if (all && left.length > 0) return 0;
  const {numerator, denominator} = read.value;
  if (numerator === target * denominator) return 1;
  return near / (1 + Math.abs(Number(numerator) / Number(denominator) - Number(target)));
  // [end]
}

// The answer in the last box of a text: what stands between the braces of the
// last \boxed{...} or \fbox{...}, a part of `text`, unchanged. Where one
// box is in another, the inner one counts. Braces within the box must match:
// \boxed{\frac{1}{2}} gives \frac{1}{2}. Behind the opening brace, a backslash
// and the character after it are text, so \{ is no brace. That holds only
// within a box: the letters \boxed are a command wherever they stand, also
// behind another backslash. Spaces may stand between it and its brace. null if
// there is no box, or if the last one has no brace or none that closes it: the
// response was cut, and a box before it is not its answer. ("\\" is a text of
// one backslash, and text.lastIndexOf("\\boxed") is -1 if there is none.)
function last_boxed(text) {
  // [answer 10.3 last_boxed]
  let begin = -1;
  for (const command of ["\\boxed", "\\fbox"]) {
    const at = text.lastIndexOf(command);
    if (at >= 0) begin = Math.max(begin, at + command.length);
  }
  if (begin < 0) return null;
  while (text[begin] === " ") ++begin;
  if (text[begin] !== "{") return null;
  let open = 0;
  for (let i = begin; i < text.length; ++i) {
    if (text[i] === "\\") {
      ++i;  // what follows is text
    } else if (text[i] === "{") {
      ++open;
    } else if (text[i] === "}" && --open === 0) {
      return text.slice(begin + 1, i);
    }
  }
  return null;
  // [end]
}

// Whether both texts are numbers, and equal. A number is first a + or a - or
// neither, and then one of two forms:
//   digits, if wanted with a point and decimals: "7", "0.5", "2.", but not
//     ".5". Before the point there may be commas, which then must stand before
//     each three digits: "1,234.5", but not "1,00"
//   digits, a slash, digits: "1/2", but not "1/0"
// Nothing else is part of a number, no space either. Values are exact: "0.33"
// is not "1/3". To compare, write each as a fraction above/below: "3/4" is one,
// and a decimal number has its digits above and a power of ten below. Zeros at
// the end of the decimals do not count: "1.230" is 123/100. False if above or
// below, without a sign, is more than 9223372036854775807, the largest whole
// number of 64 bits. A product of two BigInts is exact. Regular expressions
// help: /^[0-9]+$/.test(text).
function same_number(a, b) {
  // [answer 10.4 same_number]
  const read = (text) => {
    const fraction = /^([+-]?)([0-9]+)\/([0-9]+)$/.exec(text);
    const decimal = /^([+-]?)([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]*))?$/.exec(text);
    if (fraction === null && decimal === null) return null;
    let above, below;
    if (fraction !== null) {
      above = BigInt(fraction[2]);
      below = BigInt(fraction[3]);
    } else {
      const decimals = (decimal[3] ?? "").replace(/0+$/, "");
      above = BigInt(decimal[2].replaceAll(",", "") + decimals);
      below = 10n ** BigInt(decimals.length);
    }
    const largest = 2n ** 63n - 1n;
    if (below === 0n || above > largest || below > largest) return null;
    return {above: text.startsWith("-") ? -above : above, below};
  };
  const x = read(a), y = read(b);
  return x !== null && y !== null && x.above * y.below === y.above * x.below;
  // [end]
}

// pass@k, estimated from n responses of which c are right: the share of the
// choices of k of them that contain a right one, 1 - C(n - c, k) / C(n, k). An
// error, fail("pass_at_k: ..."), unless 0 <= c <= n and 1 <= k <= n. n may be
// 100,000; 200! does not fit in a number.
function pass_at_k(n, c, k) {
  // [answer 10.5 pass_at_k]
  if (!(0 <= c && c <= n)) fail(`pass_at_k: ${c} right of ${n}`);
  if (!(1 <= k && k <= n)) fail(`pass_at_k: k is ${k} with ${n} responses`);
  let none = 1;  // the probability that the k responses are wrong, drawn one after the other
  for (let i = 0; i < k; ++i) {
    if (n - c - i <= 0) return 1;  // more are drawn than are wrong
    none *= (n - c - i) / (n - i);
  }
  return 1 - none;
  // [end]
}

// Optional. How much of the way to the goal the moves cover, from 0 to 1. With
// hanoi_distance(position), the number of moves of a shortest solution, it is
// (distance before - distance after) / distance before, and 0 instead of less.
// It is 0 if a move breaks the rules, or follows the solution. A position that
// is solved and no move: 1. moves is a list of {from, to}.
// moved(position, from, to) is the position after a move, null if the rules
// forbid it; solved(position) is true or false.
function hanoi_progress(position, moves) {
  // [answer 10.6 hanoi_progress]
  let now = position;
  for (const {from, to} of moves) {
    if (solved(now)) return 0;
    now = moved(now, from, to);
    if (now === null) return 0;
  }
  const before = hanoi_distance(position);
  if (before === 0) return 1;
  return Math.max(0, (before - hanoi_distance(now)) / before);
  // [end]
}

// What the vote of several responses is worth. Each entry is one answer: the
// `count` of responses that give it, and whether it is `right`. The most
// frequent answer is taken; of several that are equally frequent, each with the
// same probability, so the result is the share of them that are right. 0 if
// nobody votes: no answers, or only counts of 0.
function majority_vote(answers) {
  // [answer 10.7 majority_vote]
  const most = Math.max(0, ...answers.map((answer) => answer.count));
  if (most === 0) return 0;
  const tied = answers.filter((answer) => answer.count === most);
  return tied.filter((answer) => answer.right).length / tied.length;
  // [end]
}
