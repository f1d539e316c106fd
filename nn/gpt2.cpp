// GPT-2: blocks, initialisation, hidden states, logits, configuration.
#include "nn/gpt2.h"

#include <cmath>

#include "autograd/op_util.h"
#include "nn/config_json.h"

namespace pg {
namespace {

const Gpt2Config& checked(const Gpt2Config& c) {
  const auto positive = [](const char* name, int64_t value) {
    check(value >= 1 && value <= INT32_MAX, "Gpt2: {} must be between 1 and {}, got {}", name, INT32_MAX, value);
  };
  positive("vocab_size", c.vocab_size);
  positive("block_size", c.block_size);
  positive("n_layer", c.n_layer);
  positive("n_head", c.n_head);
  positive("n_embd", c.n_embd);
  check(c.n_embd % c.n_head == 0, "Gpt2: n_embd {} is not a multiple of n_head {}", c.n_embd, c.n_head);
  check(c.in_proj_std > 0 && c.in_proj_std < HUGE_VAL, "Gpt2: in_proj_std must be positive, got {}", c.in_proj_std);
  check(c.dropout >= 0 && c.dropout < 1, "Gpt2: dropout must be in [0, 1), got {}", c.dropout);
  check(is_floating(c.dtype), "Gpt2: dtype must be f32, f64 or bf16, got {}", c.dtype);
  return c;
}

// Positions of the T new ids [B, T] of rows that already hold `before` [B] positions.
Tensor new_positions(const Tensor& before, int64_t t) {
  const auto starts = before.data<const int32_t>();
  Tensor positions = Tensor::empty({before.size(0), t}, i32);
  const auto to = positions.data<int32_t>();
  for (size_t row = 0; row < starts.size(); ++row) {
    for (int64_t i = 0; i < t; ++i) to[row * t + i] = starts[row] + static_cast<int32_t>(i);
  }
  return positions;
}

}  // namespace

Gpt2Block::Gpt2Block(const Gpt2Config& c)
    : ln_1(c.n_embd, c.bias, 1e-5, c.dtype),
      attn(c.n_embd, static_cast<int>(c.n_head), c.bias, c.dropout, Init::zeros(c.dtype)),
      ln_2(c.n_embd, c.bias, 1e-5, c.dtype),
      mlp(c.n_embd, c.bias, c.dropout, Init::zeros(c.dtype)) {}

Tensor Gpt2Block::operator()(const Tensor& x, const KvSlot* slot) const {
  const Tensor normed = ln_1(x);
  const auto [sum, normed_sum] = ln_2.add(x, slot ? attn(normed, *slot) : attn(normed));
  return sum + mlp(normed_sum);
}

Tensor Gpt2Block::operator()(const Tensor& x, const PackedBatch& rows) const {
  const auto [sum, normed_sum] = ln_2.add(x, attn(ln_1(x), rows));
  return sum + mlp(normed_sum);
}

void Gpt2Block::visit(Visitor& visitor) {
  visitor("ln_1", ln_1);
  visitor("attn", attn);
  visitor("ln_2", ln_2);
  visitor("mlp", mlp);
}

Gpt2::Gpt2(const Gpt2Config& c, Generator& generator)
    : config(checked(c)),
      wte(c.vocab_size, c.n_embd, Init::zeros(c.dtype)),
      wpe(c.block_size, c.n_embd, Init::zeros(c.dtype)),
      drop(c.dropout),
      ln_f(c.n_embd, c.bias, 1e-5, c.dtype) {
  for (int64_t i = 0; i < c.n_layer; ++i) h.emplace_back(c);
  const double writer_std = 0.02 / std::sqrt(2.0 * static_cast<double>(c.n_layer));
  for (const auto& [name, parameter] : named_parameters(*this)) {
    const Tensor value = parameter.detach();
    if (parameter.rank() == 2) {
      const double std = name.ends_with("c_proj.weight") ? writer_std : name.starts_with("h.") ? c.in_proj_std : 0.02;
      value.copy_from(Tensor::normal(parameter.shape(), 0, std, generator, c.dtype));
    }
  }
}

Tensor Gpt2::hidden(const Tensor& given, const KvCache* cache) const {
  check(given.rank() == 2 && given.dtype() == i32, "Gpt2: expected ids i32 [B, T], got {} {}", given.dtype(),
        given.shape());
  if (given.device() != device())
    detail::check_ids(given, config.vocab_size, "Gpt2");  // on a GPU the operations do not check ids
  const Tensor ids = given.to(device());
  const int64_t t = ids.size(1);
  check(t <= config.block_size, "Gpt2: {} positions, block_size is {}", t, config.block_size);
  if (!cache) {
    Tensor x = drop(wte(ids) + wpe(positions(t)));
    for (const Gpt2Block& block : h) {
      x = checkpoint_blocks ? checkpoint([&block](const Tensor& in) { return block(in); }, x) : block(x);
    }
    return ln_f(x);
  }
  check(cache->rows() == ids.size(0) && cache->k.size() == h.size(),
        "Gpt2: ids have {} rows and the model {} layers, the cache has {} and {}", ids.size(0), h.size(), cache->rows(),
        cache->k.size());
  check(cache->room() <= config.block_size, "Gpt2: the cache has room for {} positions, block_size is {}",
        cache->room(), config.block_size);
  const Tensor x = forward_cached(ids, new_positions(cache->lengths, t).to(device()), cache->slots(t));
  cache->advance(t);
  return x;
}

Tensor Gpt2::hidden(const PackedBatch& given) const {
  if (given.ids.device() != device()) detail::check_ids(given.ids, config.vocab_size, "Gpt2");
  check(given.columns <= config.block_size, "Gpt2: {} positions, block_size is {}", given.columns, config.block_size);
  const PackedBatch rows{given.rows,
                         given.columns,
                         given.ids.to(device()),
                         given.positions.to(device()),
                         given.grid.to(device()),
                         given.from.to(device())};
  Tensor x = drop(wte(rows.ids) + wpe(rows.positions));
  for (const Gpt2Block& block : h) {
    x = checkpoint_blocks ? checkpoint([&block, rows](const Tensor& in) { return block(in, rows); }, x)
                          : block(x, rows);
  }
  return reshape(index_select(ln_f(x), 0, rows.from), {rows.rows, rows.columns, config.n_embd});
}

Tensor Gpt2::hidden_next(const Tensor& ids, const std::vector<KvSlot>& slots) const {
  const int64_t rows = ids.size(0);
  const Tensor x = forward_cached(ids.view_reshape({rows, 1}), slots[0].before.view_reshape({rows, 1}), slots);
  return x.view_reshape({rows, config.n_embd});
}

Tensor Gpt2::positions(int64_t t) const {
  if (!positions_.defined() || positions_.device() != device()) {
    positions_ = Tensor::arange(config.block_size, i32, device());
  }
  return positions_.view_slice(0, 0, t);
}

Tensor Gpt2::forward_cached(const Tensor& ids, const Tensor& positions, const std::vector<KvSlot>& slots) const {
  check(!grad_enabled(), "Gpt2: a KV cache holds no tape; call it under NoGrad");
  Tensor x = drop(wte(ids) + wpe(positions));
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, &slots[i]);
  return ln_f(x);
}

Tensor Gpt2::loss(const Tensor& ids, const Tensor& targets) const {
  return cross_entropy((*this)(ids), targets.to(device()));
}

KvCache Gpt2::new_cache(int64_t rows, int64_t room) const {
  return {
      rows,         config.n_layer, config.n_head, room == 0 ? config.block_size : room, config.n_embd / config.n_head,
      config.dtype, device()};
}

void Gpt2::visit(Visitor& visitor) {
  visitor("wte", wte);
  visitor("wpe", wpe);
  visitor("drop", drop);
  for (size_t i = 0; i < h.size(); ++i) visitor("h." + std::to_string(i), h[i]);
  visitor("ln_f", ln_f);
}

std::vector<Field> fields(Gpt2Config& c) {
  const Range size = whole_from(0, INT32_MAX);
  return {{"vocab-size", &c.vocab_size, "tokens of the vocabulary", size},
          {"block-size", &c.block_size, "tokens of the longest sequence", size},
          {"n-layer", &c.n_layer, "transformer blocks", size},
          {"n-head", &c.n_head, "attention heads", size},
          {"n-embd", &c.n_embd, "channels, a multiple of the heads", size},
          {"dropout", &c.dropout, "probability of setting an activation to zero", kShare},
          {"bias", &c.bias, "linear layers and layer norms have biases"},
          {"in-proj-std", &c.in_proj_std, "standard deviation of the initial weights of c_attn and c_fc", kNotNegative},
          {"dtype", named_field<DType>(c.dtype, {{"f32", f32}, {"f64", f64}, {"bf16", bf16}}),
           "type of weights and activations"}};
}

std::string to_json(const Gpt2Config& config) {
  Gpt2Config copy = config;
  return to_json(fields(copy));
}

Gpt2Config gpt2_config_from_json(std::string_view text) {
  Gpt2Config config;
  set_from_json(fields(config), text, "Gpt2 config");
  return config;
}

double least_parameters(const Gpt2Config& c) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  return n(c.n_embd) * (n(c.vocab_size) + n(c.block_size) + 12 * n(c.n_layer) * n(c.n_embd));
}

}  // namespace pg
