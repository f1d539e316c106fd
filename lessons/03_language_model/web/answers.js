// Lesson 3: a language model. Replace each TODO(), then press Check.
// R rows, V tokens.

// Scores to probabilities, row by row: x [R, V] → [R, V], every row positive
// and summing to 1, for scores of any size.
function softmax(x) {
  // [answer 03.1 softmax]
  const e = exp(sub(x, amax(x, [-1], true)));
  return div(e, sum(e, [-1], true));
  // [end]
}

// loss = mean over the rows of -log softmax(logits)[target]. logits [R, V] in
// f64 or f32, targets i32 [R] → d loss / d logits [R, V] in the same dtype. You
// may use pg.softmax.
function cross_entropy_backward(logits, targets) {
  // [answer 03.2 cross_entropy_backward]
  const right = one_hot(targets, logits.size(1), logits.dtype);
  return div(sub(pg.softmax(logits), right), logits.size(0));
  // [end]
}

// One step of AdamW on every element: p parameters, g gradients, m and v the
// running means of g and of g². All are lists of one length; write into p, m
// and v. a.lr, a.beta1, a.beta2, a.eps, a.weight_decay; a.bias_correction1 =
// 1 - beta1^t and a.bias_correction2 = 1 - beta2^t for step t; a.grad_scale
// multiplies the gradient first (that is how clipping arrives).
function adamw(p, g, m, v, a) {
  // [answer 03.3 adamw]
  for (let i = 0; i < p.length; ++i) {
    const gradient = a.grad_scale * g[i];
    p[i] -= a.lr * a.weight_decay * p[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
    p[i] -= a.lr * (m[i] / a.bias_correction1) / (Math.sqrt(v[i] / a.bias_correction2) + a.eps);
  }
  // [end]
}

// The probabilities to draw from, in the order of the ids, as a list:
// softmax(logits / temperature), then top-k, then top-p, each on what is left,
// summing to 1 at the end. top_k keeps the k largest logits (0, or more than
// there are: all) and those equal to the k-th. top_p keeps the fewest most
// probable tokens whose sum reaches p (1: all), so the token that reaches it
// stays; of equal ones the smaller id is ranked first. logits is a list;
// options.temperature, options.top_k, options.top_p.
function filtered_probs(logits, options) {
  // [answer 03.4 filtered_probs]
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
  const largest = logits[order[0]];
  const k = options.top_k === 0 ? logits.length : Math.min(logits.length, options.top_k);
  const threshold = logits[order[k - 1]];
  const probs = [...logits].map((x) => (x >= threshold ? Math.exp((x - largest) / options.temperature) : 0));
  const total = probs.reduce((a, b) => a + b, 0);
  let mass = 0;
  for (const i of order) {
    const before = mass;
    mass += probs[i] / total;
    if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
  }
  const kept = probs.reduce((a, b) => a + b, 0);
  return probs.map((p) => p / kept);
  // [end]
}

// Draws a token: u is uniform in [0, 1); the result is the first token at which
// the sum of the probabilities so far exceeds u. Never a token of probability
// 0. Rounding may leave the whole sum a little below u: then it is the last
// token of positive probability. probs is a list.
function sample_token(probs, u) {
  // [answer 03.5 sample_token]
  let sumSoFar = 0, last = 0;
  for (let i = 0; i < probs.length; ++i) {
    if (probs[i] === 0) continue;
    sumSoFar += probs[i];
    last = i;
    if (u < sumSoFar) break;
  }
  return last;
  // [end]
}
