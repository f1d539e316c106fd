// Lesson 4: a GPT. Replace each TODO(), then press Check.
// B batch, H heads, T positions, D head size, R rows, C channels. Useful:
// matmul(a, b) (batched), transpose(x) (the last two dims), softmax(x) (the
// last dim), where(mask, a, b), sum(x, [dims], true) (keeps the dims), mean,
// le(a, b) (1 where a <= b), arange(n, dtype), unsqueeze(x, dim), x.size(dim).

// Causal attention: q, k, v [B, H, T, D] → [B, H, T, D]. The result at position
// t is the mean of the values at 0 … t, weighted by softmax(q·k / √D).
// Positions after t must not change a single bit of it: mask the scores.
function attention(q, k, v) {
  // [answer 04.1 attention]
  const scores = div(matmul(q, transpose(k)), Math.sqrt(q.size(3)));
  const position = arange(q.size(2), q.dtype);
  const past = le(position, unsqueeze(position, 1));  // [T, T]: key <= query
  return matmul(softmax(where(past, scores, -Infinity)), v);
  // [end]
}

// The gradients of the three inputs, given that of the result: {dq, dk, dv}.
// attention_weights(q, k) gives p [B, H, T, T], the weights of the forward
// pass.
function attention_backward(dout, q, k, v) {
  // [answer 04.2 attention_backward]
  const p = attention_weights(q, k);
  const dp = matmul(dout, transpose(v));
  const ds = div(mul(p, sub(dp, sum(mul(dp, p), [-1], true))), Math.sqrt(q.size(3)));
  return {dq: matmul(ds, k), dk: matmul(transpose(ds), q), dv: matmul(transpose(p), dout)};
  // [end]
}

// y = w · x̂ + b with x̂ = (x - mean) / √(variance + eps), row by row: dy, x
// [R, C], w [C] → {dx, dw, db}: dx [R, C], dw [C], db [C]. The variance is the
// mean of squares: x.var([-1], 0, true).
function layer_norm_backward(dy, x, w, eps) {
  // [answer 04.3 layer_norm_backward]
  const rstd = rsqrt(add(x.var([-1], 0, true), eps));
  const xhat = mul(sub(x, mean(x, [-1], true)), rstd);
  const dxhat = mul(dy, w);
  const centred = sub(dxhat, mean(dxhat, [-1], true));
  const along = mul(xhat, mean(mul(dxhat, xhat), [-1], true));
  return {dx: mul(sub(centred, along), rstd), dw: sum(mul(dy, xhat), [0]), db: sum(dy, [0])};
  // [end]
}

// The first weights of GPT-2, with one number free. N(0, s): normal numbers
// with mean 0 and standard deviation s.
//   matrices that write to the residual stream (names end in "c_proj.weight"):
//     N(0, 0.02 / √(2·config.n_layer))
//   matrices that read it (c_attn and c_fc: the other names that begin "h."):
//     N(0, config.in_proj_std)
//   embeddings (all other matrices): N(0, 0.02)
//   biases 0, layer norm weights 1
// parameters is a list of {name, tensor}. draw(shape, s) gives N(0, s) from the
// model's generator of random numbers; full(shape, x, dtype) has the number x
// everywhere. copy_from(tensor, values) stores values in a parameter.
function init_weights(parameters, config) {
  // [answer 04.4 init_weights]
  for (const {name, tensor} of parameters) {
    if (tensor.rank === 2) {
      const reader = name.startsWith("h.") ? config.in_proj_std : 0.02;
      const std = name.endsWith("c_proj.weight") ? 0.02 / Math.sqrt(2 * config.n_layer) : reader;
      copy_from(tensor, draw(tensor.shape, std));
    } else {
      copy_from(tensor, full(tensor.shape, name.endsWith(".weight") ? 1 : 0, tensor.dtype));
    }
  }
  // [end]
}

// Attention for new positions only: q, k, v [B, H, T, D] belong to the T tokens
// after those stored in `slot`. Row b of the cache slot.k, slot.v [B, H, S, D]
// holds slot.before[b] positions; store the new ones behind them, then compute
// attention over all. pg.attention(q, k, v, lengths) is the engine's: it uses
// only the first lengths[b] keys of row b, and takes the queries for the last
// of them; slot.after[b] = slot.before[b] + T. select(x, dim, index) and
// slice(x, dim, start, end) are views: copy_from(view, values) writes into x.
// numbers(slot.before)[b] is a length.
function decode(slot, q, k, v) {
  // [answer 04.5 decode]
  const t = q.size(2);
  for (let b = 0; b < q.size(0); ++b) {
    const start = numbers(slot.before)[b];
    const behind = (cache) => slice(select(cache, 0, b), 1, start, start + t);
    copy_from(behind(slot.k), select(k, 0, b));
    copy_from(behind(slot.v), select(v, 0, b));
  }
  return pg.attention(q, slot.k, slot.v, slot.after);
  // [end]
}
