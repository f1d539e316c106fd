// Lesson 7: advantages. Replace TODO(), then press Check.
// B episodes or environments, T steps. Useful: numbers(x) (a list, row after
// row), tensor(list, shape, dtype). Results have the dtype of the inputs.

// Generalised advantage estimation, from the last step of each row backwards:
//   delta[t] = r[t] + gamma·next - V[t]
//   A[t] = delta[t] + gamma·lambda·A[t+1]      returns[t] = A[t] + V[t]
// rewards, values and the tensors of the options [B, T]; the result is
// {advantages, returns}.
// Each check grades its own part: without the other three, 07.1 can be ok.
// 07.1: `next` is V[t+1], and next_values [B] after the last step.
// 07.2: where options.terminated is 1, the episode ended with this step: next
//       is 0, and A[t+1] is not used.
// 07.3: where options.truncated is 1, a time limit cut the episode after this
//       step: next is options.final_values, and A[t+1] is not used. Where both
//       are 1, the episode has terminated.
// 07.4: a slot whose options.mask is 0 is skipped with its flags, as if it did
//       not exist; its results are 0, whatever it holds, even Infinity and NaN.
// Tensors of the options may be null: mask then means all 1, the others all 0.
// The numbers are options.gamma and options.lambda.
function gae(rewards, values, next_values, options) {
  // [answer 07.1 gae]
  const [rows, steps] = rewards.shape, r = numbers(rewards), v = numbers(values), last = numbers(next_values);
  const list = (x, otherwise) => (x === null ? r.map(() => otherwise) : numbers(x));
  const mask = list(options.mask, 1), final_values = list(options.final_values, 0);
  const terminated = list(options.terminated, 0), truncated = list(options.truncated, 0);
  const advantages = r.map(() => 0), returns = r.map(() => 0);
  for (let b = 0; b < rows; ++b) {
    let next = last[b], after = 0;
    for (let i = (b + 1) * steps - 1; i >= b * steps; --i) {
      if (mask[i] === 0) continue;
      if (truncated[i] || terminated[i]) {
        next = terminated[i] ? 0 : final_values[i];
        after = 0;
      }
      after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
      advantages[i] = after;
      returns[i] = after + v[i];
      next = v[i];
    }
  }
  const made = (x) => tensor(x, rewards.shape, rewards.dtype);
  return {advantages: made(advantages), returns: made(returns)};
  // [end]
}
