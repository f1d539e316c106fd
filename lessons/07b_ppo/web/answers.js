// Lesson 7b: PPO. Replace each TODO(), then press Check.
// B episodes or environments, T steps; N actions of k numbers. Useful:
// where(condition, a, b), le(a, b), ge(a, b), clamp(x, min, max), exp(x),
// neg(x), sum(x, [dim]), expand(x, shape), detach(x), Math.PI. Results have the
// dtype of the inputs. A parameter mean hides mean(x): write pg.mean(x).

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
