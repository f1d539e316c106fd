// Lesson 7: PPO. Replace each TODO(), then press Check.
// B episodes or environments, T steps; N actions of k numbers. Useful:
// numbers(x) (a list, row after row), tensor(list, shape, dtype),
// where(condition, a, b), le(a, b), ge(a, b), clamp(x, min, max), exp(x),
// neg(x), sum(x, [dim]), expand(x, shape), detach(x), Math.PI. Results have the
// dtype of the inputs. A parameter mean hides mean(x): write pg.mean(x).

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

// The loss of PPO at each step [B, T], to be minimised:
//   -min(ratio·A, clip(ratio, 1 - low, 1 + high)·A)
// ratio [B, T] is π(action) now / π(action) when it was taken, a finite number;
// the advantage A [B, T], or [B, 1] for a whole row, is a constant.
function clip_loss(ratio, advantage, low, high) {
  // [answer 07.5 clip_loss]
  const a = detach(advantage);
  const free = mul(ratio, a), clipped = mul(clamp(ratio, 1 - low, 1 + high), a);
  return neg(where(le(free, clipped), free, clipped));
  // [end]
}

// What the critic minimises at each step: (v - R)² / 2; with clip > 0 the
// larger of that and (near - R)² / 2, where near = old + (v - old, clipped to
// ±clip). All have one shape, of any rank. returns R and old_values are
// constants; old_values may be null where clip is 0. Where mask is 0 the
// inputs may be anything, even Infinity and NaN: the result and the gradient
// there are 0. A mask that is null is all 1.
function value_loss(values, returns, old_values, clip, mask) {
  // [answer 07.6 value_loss]
  const half_square = (v) => {
    const off = sub(v, detach(returns));
    const error = mask === null ? off : where(mask, off, 0);
    return mul(mul(error, error), 0.5);
  };
  const free = half_square(values);
  if (clip === 0) return free;
  const old = detach(old_values);
  const bounded = half_square(add(old, clamp(sub(values, old), -clip, clip)));
  return where(ge(free, bounded), free, bounded);
  // [end]
}

// For a policy whose k numbers are independent and normal, with std =
// exp(log_std), a list of two: [log-probability density of each action [N],
// entropy [N]]. mean, actions [N, k]; log_std [k], the same for all N.
//   07.7: log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log_std_i + log(2π)/2)
//   07.8: H     =  Σ_i (log_std_i + log(2πe)/2)
function gaussian_log_prob(mean, log_std, actions) {
  // [answer 07.7 gaussian_log_prob]
  const half = Math.log(2 * Math.PI) / 2;
  const z = div(sub(actions, mean), exp(log_std));
  const log_prob = neg(sum(add(add(mul(mul(z, z), 0.5), log_std), half), [1]));
  const entropy = sum(add(log_std, half + 0.5));
  return [log_prob, expand(entropy, [mean.size(0)])];
  // [end]
}
