#pragma once
// Wrong answers of load_weights and bits_per_byte: a right one with one mistake, the mutant of that name.
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

enum LoadMistake {
  load_adds,
  load_attn_only,
  load_attn_proj_twice,
  load_biases_skipped,
  load_biases_transposed,
  load_block_0,
  load_by_position,
  load_embeddings_transposed,
  load_first_file,
  load_handle,
  load_in_bf16,
  load_k_and_v,
  load_last_block_left_out,
  load_last_norm_left_out,
  load_mlp_not,
  load_norms_skipped,
  load_positions_skipped,
  load_qkv_by_head,
  load_qkv_permuted,
  load_refuses_others,
  load_reshaped,
  load_skips_missing,
  load_square_transposed,
  load_square_untransposed,
  load_two_blocks,
  load_untransposed,
  load_with_prefix,
  load_without_prefix,
};

inline void wrong_load(LoadMistake mistake, Transformer& model, const TensorSource& source) {
  const bool prefixed = source.find("transformer.wte.weight") != nullptr;
  static std::map<std::string, Tensor> first;
  const auto named = named_parameters(model);
  size_t position = 0;
  if (mistake == load_refuses_others && source.tensors().size() != named.size())
    fail("{} has other tensors", source.path());
  for (const auto& [key, tensor] : named) {
    const std::string& name = key;
    Tensor parameter = tensor;
    std::string stored = prefixed ? "transformer." + name : name;
    if (mistake == load_without_prefix) stored = name;
    if (mistake == load_with_prefix) stored = "transformer." + name;
    const auto ends = [&name](std::string_view end) { return name.ends_with(end); };
    if (mistake == load_skips_missing && !source.find(stored)) continue;
    if (mistake == load_biases_skipped && ends(".bias") && !ends("ln_1.bias") && !ends("ln_2.bias") &&
        !ends("ln_f.bias"))
      continue;
    if (mistake == load_norms_skipped && name.find("ln_") != name.npos) continue;
    if (mistake == load_last_norm_left_out && name.starts_with("ln_f")) continue;
    if (mistake == load_positions_skipped && name == "wpe.weight") continue;
    if (mistake == load_last_block_left_out && model.h.size() > 1 &&
        name.starts_with("h." + std::to_string(model.h.size() - 1) + "."))
      continue;
    if (mistake == load_block_0 && name.starts_with("h.")) {
      stored = (prefixed ? "transformer.h.0" : "h.0") + name.substr(name.find('.', 2));
    }
    if (mistake == load_by_position) stored = source.tensors()[position++].name;
    if (mistake == load_two_blocks && name.starts_with("h.2.")) continue;
    Tensor values = source.read(stored, f32);
    if (mistake == load_in_bf16) values = values.to(bf16).to(f32);
    bool is_linear = ends("c_attn.weight") || ends("c_proj.weight") || ends("c_fc.weight");
    if (mistake == load_square_untransposed) is_linear = values.shape() != parameter.shape();
    if (mistake == load_untransposed) is_linear = false;
    if (mistake == load_attn_only) is_linear = ends("attn.c_attn.weight") || ends("attn.c_proj.weight");
    if (mistake == load_mlp_not && ends("mlp.c_proj.weight")) is_linear = false;
    if (mistake == load_biases_transposed) is_linear = name.find(".c_") != name.npos;
    if (mistake == load_embeddings_transposed) is_linear |= values.rank() == 2;
    if (mistake == load_square_transposed) is_linear |= values.rank() == 2 && values.size(0) == values.size(1);
    if (is_linear) {
      if (mistake == load_reshaped)
        values = values.view_reshape(parameter.shape());
      else
        values = transpose(values);
    }
    if (mistake == load_attn_proj_twice && ends("attn.c_proj.weight")) values = transpose(values);
    if (ends("c_attn.weight") || ends("c_attn.bias")) {
      const int64_t c = values.size(0) / 3, heads = model.config.n_head, d = c / heads;
      const auto order = [&](std::vector<int64_t> rows) {
        Tensor permuted = Tensor::empty(values.shape(), f32);
        for (size_t row = 0; row < rows.size(); ++row)
          permuted.view_select(0, static_cast<int64_t>(row)).copy_from(values.view_select(0, rows[row]));
        values = permuted;
      };
      std::vector<int64_t> rows(3 * c);
      std::iota(rows.begin(), rows.end(), 0);
      if (mistake == load_qkv_permuted) std::rotate(rows.begin(), rows.begin() + c, rows.begin() + 2 * c), order(rows);
      if (mistake == load_k_and_v) std::rotate(rows.begin() + c, rows.begin() + 2 * c, rows.end()), order(rows);
      if (mistake == load_qkv_by_head) {
        size_t to = 0;
        for (int64_t head = 0; head < heads; ++head) {
          for (int64_t part = 0; part < 3; ++part) {
            for (int64_t i = 0; i < d; ++i) rows[to++] = part * c + head * d + i;
          }
        }
        order(rows);
      }
    }
    if (mistake == load_first_file) {
      if (first.contains(name) && first[name].shape() == values.shape()) values = first[name];
      first[name] = values;
    }
    if (mistake == load_adds) values = values + parameter.detach().to(f32);
    if (mistake == load_handle) {
      parameter = values;
      continue;
    }
    parameter.copy_from(values);
  }
}
template <LoadMistake mistake>
void wrong_load(Impl& m) {
  m.load_weights = [](Transformer& model, const TensorSource& source) { return wrong_load(mistake, model, source); };
}

enum BitsMistake {
  bits_ascii,
  bits_distinct,
  bits_distinct_bytes,
  bits_e_to_the,
  bits_eighth,
  bits_empty_is_one,
  bits_exchanged,
  bits_f32,
  bits_float_sum,
  bits_first_left_out,
  bits_in_nats,
  bits_integer,
  bits_inverse,
  bits_keeps,
  bits_last_left_out,
  bits_log10,
  bits_log2_of_nats,
  bits_loss_per_token,
  bits_mean_of_ratios,
  bits_nul_ends,
  bits_of_vocabulary,
  bits_per_character,
  bits_per_token,
  bits_perplexity,
  bits_position,
  bits_total,
};

inline double wrong_bits(BitsMistake mistake, const std::vector<double>& nats, const std::vector<int32_t>& ids,
                         const std::vector<std::string>& tokens) {
  static double kept_nats = 0, kept_bytes = 0;
  double total = 0, bytes = 0, ratios = 0;
  std::set<int32_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (mistake == bits_first_left_out && i == 0) continue;
    if (mistake == bits_last_left_out && i + 1 == ids.size()) continue;
    const bool again = !seen.insert(ids[i]).second;
    if (mistake == bits_distinct && again) continue;
    const std::string& token = mistake == bits_position ? tokens[i % tokens.size()] : tokens[ids[i]];
    auto size = static_cast<double>(token.size());
    if (mistake == bits_per_character || mistake == bits_ascii) {
      size = 0;
      for (char c : token) {
        const auto byte = static_cast<uint8_t>(c);
        size += mistake == bits_per_character ? (byte & 0xc0) != 0x80 : byte < 128;
      }
    }
    if (mistake == bits_nul_ends) size = static_cast<double>(std::strlen(token.c_str()));
    if (mistake == bits_empty_is_one && token.empty()) size = 1;
    if (mistake == bits_distinct_bytes && again) size = 0;
    if (mistake == bits_log2_of_nats)
      total += std::log2(nats[i]);
    else if (mistake == bits_e_to_the)
      total += std::exp(nats[i]);
    else
      total = mistake == bits_float_sum ? static_cast<float>(total + nats[i]) : total + nats[i];
    bytes += size;
    ratios += nats[i] / size;
  }
  if (mistake == bits_of_vocabulary) {
    bytes = 0;
    for (const std::string& token : tokens) bytes += static_cast<double>(token.size());
  }
  if (mistake == bits_keeps) total += kept_nats, bytes += kept_bytes, kept_nats = total, kept_bytes = bytes;
  if (mistake == bits_per_token || mistake == bits_loss_per_token) bytes = static_cast<double>(ids.size());
  if (mistake == bits_mean_of_ratios) total = ratios, bytes = static_cast<double>(ids.size());
  if (mistake == bits_total) bytes = 1;
  if (mistake == bits_exchanged) std::swap(total, bytes);
  if (mistake == bits_integer) return static_cast<double>(std::lround(total / std::log(2.0)) / std::lround(bytes));
  if (mistake == bits_in_nats || mistake == bits_log2_of_nats || mistake == bits_loss_per_token) return total / bytes;
  if (mistake == bits_perplexity) return std::exp(total / static_cast<double>(ids.size()));
  if (mistake == bits_log10) return total / std::log10(2.0) / bytes;
  if (mistake == bits_inverse) return total * std::log(2.0) / bytes;
  if (mistake == bits_eighth) return total / std::log(2.0) / bytes / 8;
  return total / (mistake == bits_f32 ? std::log(2.0f) : std::log(2.0)) / bytes;
}
template <BitsMistake mistake>
void wrong_bits(Impl& m) {
  m.bits_per_byte = [](const std::vector<double>& nats, const std::vector<int32_t>& ids,
                       const std::vector<std::string>& tokens) { return wrong_bits(mistake, nats, ids, tokens); };
}

}  // namespace pg::lesson05
