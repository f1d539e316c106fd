// Axes: ranges, ticks, and the mapping of values to places.

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (!isNumber(x)) continue;
    if (x < low) low = x;
    if (x > high) high = x;
  }
  return low <= high ? {low, high} : null;
}

// A range that is wide enough to draw in.
function widened(range) {
  if (range.high - range.low === Infinity) return {low: Math.max(range.low, -4e307), high: Math.min(range.high, 4e307)};
  if (range.high > range.low) return range;
  if (range.high === 0) return {low: 0, high: 1};
  const by = Math.max(1e-9, Math.abs(range.high) * 0.1);
  return {low: range.low - by, high: range.high + by};
}

// The distance of about `count` round numbers in a range.
function tickStep(range, count) {
  const raw = (range.high - range.low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
}

// The range from the last round number below it to the first above it.
function rounded(range, count) {
  const step = tickStep(range, count);
  const whole = {
    low: Math.floor(range.low / step + 1e-9) * step,
    high: Math.ceil(range.high / step - 1e-9) * step
  };
  return Number.isFinite(whole.low) && Number.isFinite(whole.high) && whole.high > whole.low ? whole : range;
}

// About `count` round numbers in a range; `whole`: whole numbers only.
function ticks(range, count, whole = false) {
  const round = tickStep(range, count);
  const step = whole ? Math.max(1, round) : round;
  const all = [];
  if (!Number.isFinite(step)) return all;
  for (let i = Math.ceil(range.low / step - 1e-9); i * step <= range.high + step * 1e-9 && all.length < 50; ++i) {
    all.push(Number((i * step).toPrecision(12)));
  }
  return all;
}

// Maps [range.low, range.high] to [from, to]; with `log` by the logarithm, where values must be positive.
function scale(range, from, to, log = false) {
  const f = log ? Math.log10 : (x) => x;
  const low = f(range.low), width = f(range.high) - low;
  return (x) => from + Math.min(1.5, Math.max(-0.5, (f(x) - low) / width)) * (to - from);
}

// The texts of ticks: short ones, unless two that are near each other would have the same.
function tickTexts(all) {
  const short = all.map(shortTick);
  return new Set(short).size === all.length ? short : all.map(String);
}

function shortTick(x) {
  const size = Math.abs(x);
  if (size > 0 && size < 1e-4) return x.toExponential(size < 1e-99 ? 0 : 1).replace(".0", "");
  if (size >= 1e6) return Number((x / 1e6).toPrecision(4)) + "M";
  if (size >= 1e4) return Number((x / 1e3).toPrecision(4)) + "k";
  return shown(x);
}
