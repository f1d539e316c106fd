// What the metrics of a run are called, their units, and which of them are shown first.

// name: [title, unit, what it is]
const kMetrics = {
  "loss": ["Loss", "nats", "of training. In reinforcement learning it says little: look at the reward"],
  "val_loss": ["Validation loss", "nats per token", "on text that is not learned"],
  "val_bits_per_byte": ["Validation bits per byte", "bits", "compares models with different vocabularies"],
  "reward/mean": ["Reward", "", "mean of the sampled responses"],
  "eval/reward": ["Held-out reward", "", "of greedy responses to held-out problems"],
  "eval/solved": ["Held-out problems solved", "share", "of one response each"],
  "eval/accuracy": ["Held-out pairs ordered right", "share", ""],
  "accuracy": ["Pairs ordered right", "share", "of the batch"],
  "solved": ["Samples solved", "share", "of the responses that were sampled"],
  "reward/solved": ["Samples solved", "share", "of the responses that were sampled"],
  "episode_return": ["Return of an episode", "sum of rewards", "mean of the last 100 episodes"],
  "episode_length": ["Length of an episode", "steps", "mean of the last 100 episodes"],
  "ref_kl/k1": ["KL to the reference, k1", "nats per token", "log π - log π_ref; may be negative in a sample"],
  "ref_kl/k3": ["KL to the reference, k3", "nats per token", "never negative"],
  "entropy": ["Entropy", "nats", "of the policy's next token or action"],
  "grad_norm": ["Gradient norm", "", "before clipping"],
  "length/mean": ["Length of a response", "tokens", "of the policy"],
  "length/truncated": ["Responses cut at the limit", "share", ""],
  "lr": ["Learning rate", "", ""],
  "clip/low": ["Ratios clipped from below", "share", "of the tokens"],
  "clip/high": ["Ratios clipped from above", "share", "of the tokens"],
  "explained_variance": ["Explained variance", "", "of the returns by the critic; 1 is best"],
  "value_loss": ["Value loss", "", "of the critic"],
  "policy_loss": ["Policy loss", "", ""],
  "tokens_per_s": ["Speed", "tokens per second", ""],
  "steps_per_second": ["Speed", "steps per second", ""],
  "time/rollout_s": ["Time of a rollout", "s", ""],
  "time/update_s": ["Time of the updates", "s", ""],
  "time/tokens_per_s": ["Speed", "tokens per second", "rollout and update"],
};
const kFirst = [
  "loss", "val_loss", "reward/mean", "eval/reward", "eval/solved", "accuracy", "eval/accuracy", "solved",
  "episode_return", "entropy", "ref_kl/k3", "grad_norm", "length/mean"
];

function metricTitle(name) {
  const known = kMetrics[name];
  if (!known) return {title: name, unit: "", about: ""};
  return {title: known[0], unit: known[1], about: known[2]};
}

// In reinforcement learning the loss comes after the rewards.
function metricOrder(names) {
  const first = kFirst.filter((name) => names.includes(name));
  if (first.includes("reward/mean") || first.includes("episode_return")) {
    const i = first.indexOf("loss");
    if (i >= 0) first.splice(i, 1);
  }
  return {first, rest: names.filter((name) => !first.includes(name))};
}

// The axis of a run's steps.
const kStepNames = {
  "env": "steps of the environments",
  "expert-iteration": "iteration"
};
