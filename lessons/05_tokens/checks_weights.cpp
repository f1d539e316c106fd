// The check of lesson 5 on weights: a small GPT-2 in the layout of transformers' files.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "lessons/05_tokens/checks.h"
#include "nn/safetensors.h"
#include "tensor/base/error.h"

namespace pg::lesson05 {
namespace {

using kit::Grader;
using kit::Mistake;

constexpr int64_t kWidth = 6, kHeads = 2;

bool stored_transposed(const std::string& name, const Tensor& parameter) {
  return name.starts_with("h.") && parameter.rank() == 2;
}

// A file of these parameters as transformers writes it, the causal mask included that its older files have. The file
// has no name any more when this returns.
TensorSource written(Transformer& model, const std::string& prefix) {
  NamedTensors tensors;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Tensor own = parameter.detach();
    tensors.emplace_back(prefix + name, stored_transposed(name, own) ? own.view_transpose(0, 1).clone() : own);
  }
  tensors.emplace_back(prefix + "h.0.attn.bias", Tensor::ones({1, 1, 5, 5}));
  std::string path = (std::filesystem::temp_directory_path() / "policygrad-lesson5-XXXXXX").string();
  const int file = mkstemp(path.data());
  check(file >= 0, "lesson 5: no file can be made in {}", std::filesystem::temp_directory_path().string());
  close(file);
  save_safetensors(path, tensors);
  TensorSource source = open_tensors(path);
  std::filesystem::remove(path);
  return source;
}

// The rows of c_attn in another order: part p of the result is part order[p] of x.
Tensor parts_in_order(const Tensor& x, const std::vector<int64_t>& order, int64_t parts) {
  const Tensor result = x.clone();
  const int64_t size = x.size(0) / parts;
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t from = order[static_cast<size_t>(p)] * size;
    result.view_slice(0, p * size, (p + 1) * size).copy_from(x.view_slice(0, from, from + size));
  }
  return result;
}

std::vector<Mistake> mistakes_for(const std::string& name, const Tensor& want) {
  std::vector<Mistake> mistakes = {
      {"nothing was written: `parameter = ...` makes the name point elsewhere; use parameter.copy_from(...)",
       Tensor::full(want.shape(), -7)}};
  if (!stored_transposed(name, want)) return mistakes;
  const Tensor stored = want.view_transpose(0, 1).clone();
  if (stored.shape() == want.shape()) {
    mistakes.push_back(
        {"not transposed: a square matrix fits either way, and no error tells; the file has [in, out]", stored});
  } else {
    mistakes.push_back(
        {"reshaped, not transposed: the numbers stay in the order of the file", stored.view_reshape(want.shape())});
  }
  if (name.ends_with("c_attn.weight")) {
    const std::string permuted = "q, k and v are permuted: the first C rows are q's, then k's, then v's";
    for (const std::vector<int64_t>& order :
         std::vector<std::vector<int64_t>>{{1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
      mistakes.push_back({permuted, parts_in_order(want, order, 3)});
    }
    mistakes.push_back({"q, k and v alternate head by head: here all of q comes first, then all of k, then v",
                        parts_in_order(want, {0, 2, 4, 1, 3, 5}, 3 * kHeads)});
  }
  return mistakes;
}

}  // namespace

void check_load_weights(Grader& g, const Impl& impl) {
  Generator random(55);
  const TransformerConfig config{.vocab_size = 7, .block_size = 5, .n_layer = 2, .n_head = kHeads, .n_embd = kWidth};
  Transformer original(config, random), loaded(config, random);
  for (const auto& [name, parameter] : named_parameters(original)) {
    parameter.copy_from(Tensor::normal(parameter.shape(), 0, 1, random));
  }
  for (const std::string prefix : {"", "transformer."}) {
    const TensorSource source = written(original, prefix);
    for (const auto& [name, parameter] : named_parameters(loaded)) parameter.fill(-7);
    const std::string input = fmt::format("a file with \"{}wte.weight\" and so on", prefix);
    std::string error;
    try {
      impl.load_weights(loaded, source);
    } catch (const Error& e) {
      error = e.what();
    }
    const bool name = error.find("no tensor") != std::string::npos;
    g.expect(error.empty(), input, error, "no error",
             name ? "a name that is not in the file: some files have \"transformer.\" before every name"
                  : "a shape that does not fit: the file has c_attn, c_fc and c_proj as [in, out], the embeddings as "
                    "our model has them");
    const NamedTensors got = named_parameters(loaded), want = named_parameters(original);
    for (size_t i = 0; i < want.size() && !g.failed(); ++i) {
      g.equal(input + ": " + want[i].first, got[i].second.detach(), want[i].second.detach(),
              {.mistakes = mistakes_for(want[i].first, want[i].second.detach())});
    }
    if (g.failed()) return;
  }
  g.note(fmt::format("{} tensors, with and without \"transformer.\"", named_parameters(original).size()));
}

}  // namespace pg::lesson05
