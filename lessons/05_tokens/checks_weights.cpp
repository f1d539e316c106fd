// The check of lesson 5 on weights: a small GPT-2 in the layout of transformers' files.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>

#include "lessons/05_tokens/checks.h"
#include "nn/files/safetensors.h"
#include "tensor/base/error.h"

namespace pg::lesson05 {
namespace {

using kit::Grader;
using kit::Mistake;

bool stored_transposed(const std::string& name, const Tensor& parameter) {
  return name.starts_with("h.") && parameter.rank() == 2;
}

// A file of these parameters as transformers writes it, the causal mask included that its older files have, and with
// "transformer." the head first, which has no prefix. The file has no name any more when this returns.
TensorSource written(Transformer& model, const std::string& prefix, const std::string& without = "") {
  NamedTensors tensors;
  if (!prefix.empty()) tensors.emplace_back("lm_head.weight", Tensor::ones({2, 3}));
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (name == without) continue;
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

// What a model holds before it is filled, in every element.
constexpr double kBefore = -7;

using Values = std::map<std::string, Tensor>;
Values values_of(Transformer& model) {
  Values values;
  for (const auto& [name, parameter] : named_parameters(model)) values[name] = parameter.detach().clone();
  return values;
}

// `previous`: the values of the file that was read before.
std::vector<Mistake> mistakes_for(const std::string& name, const Values& wanted, const Values& previous,
                                  int64_t heads) {
  const Tensor want = wanted.at(name);
  std::vector<Mistake> mistakes = {{fmt::format("{} is not filled: every parameter has a tensor in the file", name),
                                    Tensor::full(want.shape(), kBefore)},
                                   {"added to what was there: copy_from overwrites", want + kBefore},
                                   {"rounded to bf16: source.read(name, f32) keeps all digits", want.to(bf16).to(f32)}};
  if (previous.contains(name) && previous.at(name).shape() == want.shape()) {
    mistakes.push_back(
        {"something is kept between calls: these are the numbers of the file before", previous.at(name)});
  }
  for (const auto& [other, values] : wanted) {
    if (other == name || values.shape() != want.shape()) continue;
    mistakes.push_back({fmt::format("these are the numbers of {}: take each tensor by its name", other), values});
  }
  if (want.rank() != 2) return mistakes;
  const Tensor stored = want.view_transpose(0, 1).clone();
  if (!stored_transposed(name, want)) {
    mistakes.push_back({"transposed: an embedding is a table of rows, no layer, whatever its shape", stored});
    return mistakes;
  }
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
    std::vector<int64_t> by_head;
    for (int64_t head = 0; head < heads; ++head) by_head.insert(by_head.end(), {head, heads + head, 2 * heads + head});
    mistakes.push_back({"q, k and v alternate head by head: here all of q comes first, then all of k, then v",
                        parts_in_order(want, by_head, 3 * heads)});
  }
  return mistakes;
}

std::string why(const std::string& error) {
  const auto has = [&error](const char* word) { return error.find(word) != std::string::npos; };
  if (has("no tensor")) {
    return "a name that is not in the file: some files have \"transformer.\" before every name, others have not";
  }
  if (has("transpose")) return "only matrices are transposed: a bias has one dimension";
  if (has("expand") || has("reshape")) {
    return "a shape that does not fit: take each tensor by its name; the file has c_attn, c_fc and c_proj as [in, "
           "out], the embeddings as our model has them";
  }
  return "an error where none is due: the file may hold other tensors than the model's, such as h.0.attn.bias";
}

struct LoadCase {
  std::string prefix;
  TransformerConfig config;
};

}  // namespace

void check_load_weights(Grader& g, const Impl& impl) {
  // In the last two every matrix but that of q, k and v and those of the MLP is square.
  const LoadCase cases[] = {
      {"", {.vocab_size = 7, .block_size = 5, .n_layer = 2, .n_head = 2, .n_embd = 6}},
      {"transformer.", {.vocab_size = 7, .block_size = 5, .n_layer = 2, .n_head = 2, .n_embd = 6}},
      {"", {.vocab_size = 6, .block_size = 6, .n_layer = 1, .n_head = 3, .n_embd = 6}},
      {"transformer.", {.vocab_size = 5, .block_size = 4, .n_layer = 3, .n_head = 1, .n_embd = 4, .n_hidden = 4}},
  };
  Generator random = kit::draws(55);
  Values before;
  size_t tensors = 0;
  for (const auto& [prefix, config] : cases) {
    Transformer original(config, random), loaded(config, random);
    for (const auto& [name, parameter] : named_parameters(original)) {
      parameter.copy_from(Tensor::normal(parameter.shape(), 0, 1, random));
    }
    for (const auto& [name, parameter] : named_parameters(loaded)) parameter.fill(kBefore);
    const std::string input = fmt::format("a file with \"{}wte.weight\" and so on, {} blocks of {} channels", prefix,
                                          config.n_layer, config.n_embd);
    std::string error;
    try {
      impl.load_weights(loaded, written(original, prefix));
    } catch (const Error& e) {
      error = e.what();
    }
    if (!g.expect(error.empty(), input, error, "no error", why(error))) return;
    const Values want = values_of(original);
    const NamedTensors got = named_parameters(loaded);
    const auto untouched = [](const auto& named) {
      const std::vector<double> values = named.second.to_vector();
      return std::count(values.begin(), values.end(), kBefore) == std::ssize(values);
    };
    if (!g.expect(!std::all_of(got.begin(), got.end(), untouched), input, "every parameter as it was", "filled",
                  "nothing was written: `parameter = ...` makes the name point elsewhere; use "
                  "parameter.copy_from(...)")) {
      return;
    }
    for (const auto& [name, parameter] : got) {
      ++tensors;
      if (!g.equal(input + ": " + name, parameter.detach(), want.at(name),
                   {.mistakes = mistakes_for(name, want, before, config.n_head)})) {
        return;
      }
    }
    before = want;
  }
  Transformer original(cases[0].config, random), loaded(cases[0].config, random);
  for (const std::string without : {"wpe.weight", "h.1.mlp.c_proj.bias"}) {
    bool refused = false;
    try {
      impl.load_weights(loaded, written(original, "", without));
    } catch (const std::exception&) {
      refused = true;
    }
    g.expect(refused, "a file without " + without, "no error", "an error",
             "a missing tensor must be an error (source.read gives one): the model would keep a random one");
  }
  g.note(fmt::format("{} tensors of four files, with and without \"transformer.\"", tensors));
}

}  // namespace pg::lesson05
