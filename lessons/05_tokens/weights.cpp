// The demonstration of lesson 5, last part: files of others. Weights as transformers stores them, GPT-2's vocabulary,
// and a pretrained model if one is on this machine.
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "lessons/05_tokens/checks.h"
#include "lessons/05_tokens/demo.h"
#include "lessons/kit/plot.h"
#include "nn/files/pretrained.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"

namespace pg::lesson05 {
namespace {

// The model's files as transformers writes them. The folder is gone when this returns; the source stays open.
TensorSource exported(Transformer& model) {
  std::string folder = (std::filesystem::temp_directory_path() / "policygrad-lesson5-XXXXXX").string();
  check(mkdtemp(folder.data()) != nullptr, "lesson 5: no folder can be made in {}",
        std::filesystem::temp_directory_path().string());
  save_pretrained(model, folder);
  TensorSource source = open_tensors(folder);
  std::filesystem::remove_all(folder);
  return source;
}

Transformer copy_of(Transformer& model) {
  Transformer copy = Transformer::zeros(model.config);
  load_state_dict(copy, state_dict(model));
  return copy;
}

int64_t different_logits(Transformer& a, Transformer& b, const std::vector<int32_t>& text) {
  NoGrad guard;
  const Tensor ids = Tensor::from(std::vector<int32_t>(text.begin(), text.begin() + 32), {1, 32});
  const std::vector<double> x = a(ids).to_vector(), y = b(ids).to_vector();
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) different += x[i] != y[i];
  return different;
}

// A part that needs a file which is not here claims nothing.
void skipped(kit::Demo& demo, const std::string& reason, const std::string& name) {
  demo.line("skipped: {} (./pg fetch {})", reason.substr(0, reason.find(';')), name);
}

}  // namespace

void show_import(kit::Demo& demo, const Impl& impl, TokenModel& trained) {
  demo.heading("Weights in somebody else's layout");
  const TensorSource source = exported(trained.model);
  Transformer loaded = Transformer::zeros(trained.model.config);
  impl.load_weights(loaded, source);
  Transformer untransposed = copy_of(trained.model), exchanged = copy_of(trained.model);
  const int64_t c = trained.model.config.n_embd;
  for (const auto& [name, parameter] : named_parameters(untransposed)) {
    if (name.ends_with("attn.c_proj.weight")) parameter.copy_from(parameter.view_transpose(0, 1).clone());
  }
  for (const auto& [name, parameter] : named_parameters(exchanged)) {
    if (name.find("attn.c_attn.") == std::string::npos) continue;
    const Tensor own = parameter.clone();
    parameter.view_slice(0, 0, c).copy_from(own.view_slice(0, c, 2 * c));
    parameter.view_slice(0, c, 2 * c).copy_from(own.view_slice(0, 0, c));
  }
  demo.say(
      "The model of the tokens, written as transformers writes a GPT-2 ({} tensors; the matrices of the blocks as [in, "
      "out]) and read again. Two mistakes that no shape gives away, and what they cost in bits per byte:",
      source.tensors().size());
  const auto bar = [&](const std::string& name, Transformer& model) {
    const double bits = bits_of(impl, trained, model);
    return kit::Bar{name, bits, fmt::format("{:.3f}", bits)};
  };
  const std::vector<kit::Bar> bars = {bar("as it should be", loaded), bar("c_proj [C, C] not transposed", untransposed),
                                      bar("q and k exchanged", exchanged)};
  demo.show(kit::bars(bars));
  demo.gap();
  demo.claim("logits that differ after the import",
             static_cast<double>(different_logits(trained.model, loaded, trained.val)),
             fmt::format("of {}", 32 * trained.tokens.size()), kit::equals(0));
  demo.claim("cost of the forgotten transpose", bars[1].value - bars[0].value, "bits/byte", kit::at_least(0.1));
}

void show_gpt2_tokens(kit::Demo& demo, const Impl& impl) {
  demo.heading("GPT-2's own vocabulary");
  std::string paths[3];
  const char* names[] = {"gpt2_vocab.bpe", "gpt2_encoder.json", "tinyshakespeare.txt"};
  for (size_t i = 0; i < 3; ++i) {
    try {
      paths[i] = find_data(data_file(names[i]));
    } catch (const Error& error) {
      return skipped(demo, error.what(), names[i]);
    }
    if (paths[i].empty()) return skipped(demo, fmt::format("no file {}", names[i]), names[i]);
  }
  const BpeTokenizer gpt2 = bpe_from_vocab(read_file(paths[1]), read_file(paths[0]), "gpt2");
  ByteIds byte_ids;
  for (size_t b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    byte_ids[b] = gpt2.token_id({&byte, 1}).value();
  }
  MergeTable merges(gpt2.data().merges.size());
  uint32_t rank = 0;
  for (const BpeData::Merge& merge : gpt2.data().merges) merges.set(merge.left, merge.right, {rank++, merge.id});
  const std::string text = read_file(paths[2]);
  const std::vector<int32_t> ids = encode(impl, text, byte_ids, merges, "<|endoftext|>");
  std::string beginning;
  for (size_t i = 0; i < 14; ++i) {
    beginning += i == 0 ? "" : "|";
    beginning += readable(gpt2.decode_bytes({&ids[i], 1}));
  }
  demo.say(
      "{} merges, learned by OpenAI from 40 GB of web pages in 2019. The {} bytes of tiny Shakespeare become {} "
      "tokens:",
      rank, text.size(), ids.size());
  demo.line("{}", beginning);
  demo.gap();
  demo.claim("tokens more or fewer than GPT-2's 338,025", static_cast<double>(ids.size()) - 338025, "", kit::equals(0));
}

void show_pretrained(kit::Demo& demo) {
  demo.heading("A pretrained model");
  std::string path;
  try {
    path = smollm2_path();
  } catch (const Error& error) {
    return skipped(demo, error.what(), "smollm2");
  }
  demo.status("SmolLM2 is read");
  NoGrad guard;
  const Transformer model = load_pretrained(path);
  const auto tokenizer = load_tokenizer(path);
  const std::string prompt = "The capital of France is";
  const std::vector<int32_t> ids = tokenizer->encode(prompt);
  const Tensor logits = model(Tensor::from(ids, {1, std::ssize(ids)})).view_slice(1, -1, std::ssize(ids));
  const std::vector<double> scores = logits.to_vector();
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                    [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - scores[order[0]]);
  std::vector<kit::Bar> bars;
  for (size_t i = 0; i < 5; ++i) {
    const double p = std::exp(scores[order[i]] - scores[order[0]]) / sum;
    bars.push_back({readable(tokenizer->continuation(-1, static_cast<int32_t>(order[i]))), p,
                    fmt::format("{:.1f} %  (logit {:.2f})", 100 * p, scores[order[i]])});
  }
  demo.say("SmolLM2, 135 million weights ({}), reads \"{}\". What comes next, of {} tokens:",
           std::filesystem::path(path).filename().string(), prompt, scores.size());
  demo.show(kit::bars(bars, 1));
}

}  // namespace pg::lesson05
