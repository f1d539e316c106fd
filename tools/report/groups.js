// The responses to one prompt in one step, with their rewards and advantages: what a baseline over the group compares.

const groupKey = (s) => `${s.source} ${s.step} ${s.split} ${s.group}`;

function meanOf(values) {
  const numbers = list(values).filter(isNumber);
  return numbers.length ? numbers.reduce((sum, x) => sum + x / numbers.length, 0) : null;
}

// The other responses of a group beside the one that is shown; show(sample) shows another. Null for a response alone.
function groupTable(samples, shownNow, show) {
  if (!isNumber(shownNow.group)) return null;
  const key = groupKey(shownNow), group = samples.filter((s) => s.broken === undefined && groupKey(s) === key);
  if (group.length < 2) return null;
  const rewards = group.map((s) => s.reward).filter(isNumber), mean = meanOf(rewards);
  const spread = mean === null ? null : Math.sqrt(meanOf(rewards.map((r) => (r - mean) ** 2)));
  const rows = group.slice(0, 200).map((s) => [
    el("button", {type: "button", disabled: s === shownNow, onclick: () => show(s)}, `response ${s.sample + 1}`),
    shown(s.reward), shown(meanOf(s.advantage)), shown(s.length), outcomeText(s),
    el("span", {class: "mono"}, textOf(s.response).slice(0, 80))
  ]);
  const alike = rewards.length > 1 && rewards.every((r) => r === rewards[0]);
  return [
    el("h3", {}, `The ${plural(group.length, "recorded response")} to this prompt`),
    el("p", {class: "muted"}, alike ? "All rewards are equal, so a baseline of the group leaves no advantage." :
                                      `Rewards: mean ${shown(mean)}, standard deviation ${shown(spread)}.`),
    table(
        "advantage: the mean over the response's tokens", ["", "reward", "advantage", "tokens", "result", "beginning"],
        rows, (i) => i >= 1 && i <= 3)
  ];
}
