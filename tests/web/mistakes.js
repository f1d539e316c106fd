// Wrong answers in JavaScript, for tests/web/exercises.js.
"use strict";

// Each row: the lesson; a row of its mistakes in C++, whose check and words must be those of the page; what of
// web/answers.js is replaced; and by what.
const mistakes = [
  [1, "transpose_shape_only", "[strides[a], strides[b]] = [strides[b], strides[a]];", ""],
  [1, "transpose_no_offset", "view_of(x.offset()", "view_of(0"],
  [1, "transpose_copies", "return x.view_of(", "return x.clone().view_of("],
  [1, "broadcast_larger", "result.push(x === 1 ? y : x)", "result.push(Math.max(x, y))"],
  [1, "broadcast_foreign", "!== 1) fail(`", "!== 1) throw new Error(`"],
  [1, "broadcast_no_words", "fail(`${op}: shapes", "fail(`shapes"],
  [1, "offset_narrow", "offset += (n % shape[d]) * strides[d];", "offset += ((n % shape[d]) * strides[d]) | 0;"],
  [1, "offset_first_fastest", "let d = shape.length - 1; d >= 0; --d", "let d = 0; d < shape.length; ++d"],
  [2, "tanh_no_square", "sub(1, mul(y, y))", "sub(1, y)"],
  [2, "matmul_a_untransposed", "matmul(transpose(a), dc)", "matmul(a, dc)"],
  [3, "softmax_overflows", "exp(sub(x, amax(x, [-1], true)))", "exp(x)"],
  [3, "adamw_no_root", "Math.sqrt(v[i] / a.bias_correction2)", "v[i] / a.bias_correction2"],
  [4, "attention_strict", "le(position, unsqueeze", "lt(position, unsqueeze"],
  [
    4, "attention_no_scale", "scores = div(matmul(q, transpose(k)), Math.sqrt(q.size(3)))",
    "scores = matmul(q, transpose(k))"
  ],
  [4, "backward_exchanged", "{dq: matmul(ds, k), dk:", "{dk: matmul(ds, k), dq:"],
  [4, "backward_p_plain", "dv: matmul(transpose(p), dout)", "dv: matmul(p, dout)"],
  [4, "norm_ddof_1", "add(x.var([-1], 0, true), eps)", "add(x.var([-1], 1, true), eps)"],
  [4, "init_one_write", "Math.sqrt(2 * config.n_layer)", "Math.sqrt(config.n_layer)"],
  [4, "init_fresh_each", "draw(tensor.shape, std)", "mul(normal(tensor.shape, 3, tensor.dtype), std)"],
  [4, "decode_v_forgotten", "copy_from(behind(slot.v), select(v, 0, b));", ""],
  [4, "decode_row_zero", "const start = numbers(slot.before)[b];", "const start = numbers(slot.before)[0];"],
  [6, "return_no_gamma", "+= gamma * g[", "+= g["],
  [6, "k2_no_half", "return mul(mul(d, d), 0.5);", "return mul(d, d);"],
  [7, "gae_no_lambda", "options.gamma * options.lambda * after", "options.gamma * after"],
  [7, "gae_returns_advantages", "returns[i] = after + v[i];", "returns[i] = after;"],
  [7, "end_bootstrapped", "next = terminated[i] ? 0 : final_values[i];", "if (!terminated[i]) next = final_values[i];"],
  [7, "cut_is_end", "terminated[i] ? 0 : final_values[i]", "0"],
  [7, "mask_ignored", "if (mask[i] === 0) continue;", ""],
  ["7b", "clip_exchanged", "clamp(ratio, 1 - low, 1 + high)", "clamp(ratio, 1 - high, 1 + low)"],
  ["7b", "value_minimum", "where(ge(free, bounded), free, bounded)", "where(le(free, bounded), free, bounded)"],
  ["7b", "gauss_no_exp", "div(sub(actions, mean), exp(log_std))", "div(sub(actions, mean), log_std)"],
  ["7b", "entropy_no_e", "sum(add(log_std, half + 0.5))", "sum(add(log_std, half))"],
  [8, "sft_prompt", "read && t + 1 >= prompt.length", "read"],
  [8, "sft_first_missing", "t + 1 >= prompt.length", "t >= prompt.length"],
  [8, "pair_margin_added", "sub(difference, detach(margin))", "add(difference, detach(margin))"],
  [8, "score_of_world", "response.action_mask.lastIndexOf(1)", "response.tokens.length - 1"],
  [8, "kl_of_world", "if (action_mask[t]) rewards[t]", "rewards[t]"],
  [8, "log_prob_no_mask", "where(rows.mask, log_prob, 0)", "log_prob"],
  [8, "dpo_sign", "softplus(sub(r, c))", "softplus(sub(c, r))"],
  [8, "dpo_rewards_with_gradient", "chosen_reward: detach(c)", "chosen_reward: c"],
  [9, "mean_sign", "return sub(d, mean(d, [1], true));", "return sub(mean(d, [1], true), d);"],
  [
    9, "ratio_no_exp", "exp(clamp(where(mask, sub(log_prob, old_log_prob), 0), -20, 20))",
    "clamp(where(mask, sub(log_prob, old_log_prob), 0), -20, 20)"
  ],
  [10, "leftover", "value !== null && next() === \"\" ? {value, numbers}", "value !== null ? {value, numbers}"],
  [10, "leading_zeros", " || (digits.length > 1 && digits[0] === \"0\")", ""],
  [10, "wraps", "BigInt(digits);", "BigInt.asIntN(64, BigInt(digits));"],
  [10, "throws", "digits === \"\"", "digits.length.x.y"],
  [
    10, "as_double", "if (numerator === target * denominator)",
    "if (Number(numerator) === Number(target * denominator))"
  ],
  [10, "first_box", "text.lastIndexOf(command)", "text.indexOf(command)"],
  [10, "zeros_kept", ".replace(/0+$/, \"\")", ""],
  [
    10, "doubles", "x.above * y.below === y.above * x.below",
    "Number(x.above) * Number(y.below) === Number(y.above) * Number(x.below)"
  ],
  [10, "unchecked", "if (!(1 <= k && k <= n)) fail(`pass_at_k: k is ${k} with ${n} responses`);", ""],
  [10, "negative", "Math.max(0, (before - hanoi_distance(now)) / before)", "(before - hanoi_distance(now)) / before"],
  [10, "nobody", "if (most === 0) return 0;", ""],
  [12, "mean_by_ranks", "return div(total, count);", "return div(total, means.length);"],
  [12, "mean_empty_rank", "if (tokens[r] === 0) return;", ""],
  [12, "shard_size_for_end", "end: begin_of(rank + 1n)", "end: begin_of(rank + 1n) - begin_of(rank)"],
  [12, "buckets_above", ">= least_bytes", "> least_bytes"],
  [12, "buckets_four_bytes", "(end - begin) * element_bytes", "(end - begin) * 4"]
];

// What a function of JavaScript may return or do that no function of C++ can. Each row: the lesson, the answer that is
// replaced, its body, and what the check says.
const refused = [
  [1, "01.1", "return 5;", "view_transpose: the result: expected a tensor, got a number"],
  [1, "01.1", "return x.view_of(0, [NaN], [1]);", "view_of: shape[0]: expected a whole number, got nan (line "],
  [1, "01.1", "return x.view_of();", "view_of: offset: expected a number, got undefined"],
  [1, "01.2", "return \"2, 3\";", "broadcast_shapes: the result: expected a list, got a text"],
  [1, "01.2", "return [1, , 2];", "broadcast_shapes: the result[1]: expected a number, got undefined"],
  [1, "01.2", "return Object.assign([], {length: 4e9});", "expected a list of at most 100,000,000 values, got 4"],
  [1, "01.3", "return 2 ** 54;", "offset_of: the result: expected a whole number from -9007199254740992 to"],
  [1, "01.3", "return 5n;", "offset_of: the result: expected a number, got a BigInt"],
  [1, "01.3", "return true;", "offset_of: the result: expected a number, got true or false"],
  [1, "01.3", "", "offset_of: the result is undefined: is a return missing?"],
  [1, "01.3", "throw null;", "null"],
  [1, "01.3", "throw {toString: 5};", "something was thrown that is no text"],
  [1, "01.3", "fail(\"naïve 😀\");", "naïve 😀 (line "],
  [3, "03.1", "return sum(x, [1e10]);", "sum: dims[0]: expected a whole number from -2147483648 to 2147483647"],
  [3, "03.1", "return full([1e9, 1e9], 0);", "full: shape: expected at most 2^28 elements, got the shape [1000000000"],
  [3, "03.1", "return to(x, \"f16\");", "to: dtype: expected one of f32 f64 bf16 i32 u8, got f16"],
  [3, "03.1", "return sum(x, [1], \"yes\");", "sum: keepdim: expected true or false, got a text"],
  [3, "03.5", "return 1e12;", "sample_token: the result: expected a whole number from -2147483648 to 2147483647"],
  [4, "04.2", "return {dq: dout, dk: dout};", "attention_backward: the result.dv: expected a tensor, got undefined"],
  [4, "04.2", "return null;", "attention_backward: the result: expected an object, got null"],
  ["7b", "07.7", "return [actions];", "gaussian_log_prob: the result: expected a list of two values, got 1"],
  [8, "08.3", "response.rewards = [1n];", "set_rewards: argument 1.rewards[0]: expected a number, got a BigInt"],
  [8, "08.3", "response.action_mask = [300];", "argument 1.action_mask[0]: expected a whole number from 0 to 255"],
  [10, "10.1", "return {value: {numerator: 1.5, denominator: 1}, numbers: []};", "expected a whole number, got 1.5"],
  [10, "10.1", "return {value: {numerator: 2n ** 64n, denominator: 1n}, numbers: []};", "BigInt that fits in 64 bits"],
  [
    10, "10.1", "return {value: {numerator: 1n, denominator: 0n}, numbers: []};",
    "expected a denominator above 0, got 0"
  ],
  [10, "10.3", "return \"no part\";", "last_boxed: the result: expected a part of the text, got no part"],
  [10, "10.4", "return 1;", "same_number: the result: expected true or false, got a number"],
  [10, "10.6", "return hanoi_distance({peg: [9], goal: 3});", "a position: each peg is 1, 2 or 3 (line "],
  [12, "12.4", "return {begin: 0, end: 1.5};", "shard_of: the result.end: expected a whole number, got 1.5"],
  [
    12, "12.4", "return {begin: \"0\", end: 1n};",
    "shard_of: the result.begin: expected a BigInt such as 5n, got a text"
  ]
];

module.exports = {
  mistakes,
  refused
};
