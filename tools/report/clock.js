// The time that a run has measured: its steps as seconds, and its speed.

const curveLine = (data, name, group) =>
    data.curves.find((c) => c.name === name)?.lines.find((line) => line.group === group);

// A function from a step to the seconds of rollouts and updates until then; null where the run has not measured them.
function clockOf(data, group) {
  const lines = ["time/rollout_s", "time/update_s"].map((name) => curveLine(data, name, group)).filter(Boolean);
  if (!lines.length) return null;
  let sum = 0;
  const until = lines[0].x.map((_, i) => {
    for (const line of lines) sum += (isNumber(line.mean[i]) ? line.mean[i] : 0) * (line.steps_per_point ?? 1);
    return sum;
  });
  return (step) => until[lines[0].x.findLastIndex((x) => x <= step)] ?? 0;
}

// "1250 tokens/s", the mean over a run; empty if it has not measured it.
function speedText(data, group) {
  for (const [name, unit] of
           [["time/rollout_tokens_per_s", "sampled tokens/s"], ["tokens_per_s", "tokens/s"],
            ["steps_per_second", "steps/s"]]) {
    const values = list(curveLine(data, name, group)?.mean).filter(isNumber);
    if (!values.length) continue;
    const mean = values.reduce((sum, x) => sum + x / values.length, 0);
    return `${mean < 100 ? shown(mean) : Math.round(mean)} ${unit}`;
  }
  return "";
}
