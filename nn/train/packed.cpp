// Packed rows: the transformer on a batch without padding, in which shared prefixes are computed once.
#include "autograd/op_util.h"
#include "nn/transformer.h"

namespace pg {

Tensor PackedBatch::on_grid(const Tensor& packed) const {
  return reshape(index_select(packed, 0, from), {rows, columns, packed.size(1)});
}
Tensor PackedBatch::from_grid(const Tensor& x) const { return index_select(reshape(x, {-1, x.size(2)}), 0, grid); }

Tensor CausalSelfAttention::operator()(const Tensor& x, const PackedBatch& rows) const {
  check(config.causal, "CausalSelfAttention: packed rows need causal attention");
  const Tensor qkv = c_attn(x);
  if (plain()) return drop(c_proj(rows.from_grid(attention_qkv(rows.on_grid(qkv), static_cast<int>(config.n_head)))));
  // Norms and rotations are computed once for each of the N positions.
  const int64_t n = x.size(0), d = config.head_width();
  const auto [q, k, v] = split(reshape(qkv, {n, 1, qkv.size(1)}), rows.positions);
  const auto heads_on_grid = [&](const Tensor& h) {  // [N, H, 1, D] → [B, H, T, D]
    return split_heads(rows.on_grid(reshape(h, {n, h.size(1) * d})), h.size(1));
  };
  const Tensor y = attention(heads_on_grid(q), heads_on_grid(k), heads_on_grid(v));
  return drop(c_proj(rows.from_grid(reshape(transpose(y, 1, 2), {rows.rows, rows.columns, config.n_head * d}))));
}

Tensor Transformer::hidden(const PackedBatch& given) const {
  check_causal(config, "Transformer with packed rows");  // a shared prefix depends on what follows it
  if (given.ids.device() != device()) detail::check_ids(given.ids, config.vocab_size, "Transformer");
  check(given.columns <= config.block_size, "Transformer: {} positions, block_size is {}", given.columns,
        config.block_size);
  const PackedBatch rows{given.rows,
                         given.columns,
                         given.ids.to(device()),
                         given.positions.to(device()),
                         given.grid.to(device()),
                         given.from.to(device())};
  const Tensor packed = hidden_of(embed(rows.ids, rows.positions), rows);
  return reshape(index_select(packed, 0, rows.from), {rows.rows, rows.columns, config.n_embd});
}

}  // namespace pg
