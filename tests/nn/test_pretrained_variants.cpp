// Folders as other programs write them: heads that are tied in name only, names without a prefix, pointers.
#include <fstream>

#include "nn/files/pretrained.h"
#include "nn/files/safetensors.h"
#include "tensor/base/json.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::TempDir;

namespace {

// A small model of the Llama family in a folder, whose files can be changed.
class Folder {
 public:
  explicit Folder(bool tied) {
    Generator g(3);
    TransformerConfig c{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 8, .tied = tied};
    c.bias = false;
    c.norm = NormKind::rms;
    c.positions = Positions::rope;
    c.mlp = MlpKind::swiglu;
    model = std::make_unique<Transformer>(c, g);
    save_pretrained(*model, path);
    for (auto& [name, tensor] : load_safetensors(weights).tensors) tensors.emplace_back(name, tensor.clone());
  }
  void save() const { save_safetensors(weights, tensors, {{"format", "pt"}}); }
  void set(const char* key, const Json& value) const {
    Json json = Json::parse(testing::read_bytes(config));
    json[key] = value;
    std::ofstream(config) << json.dump();
  }
  std::vector<double> logits() const {
    NoGrad no_grad;
    return load_pretrained(path)(ids()).to_vector();
  }
  static Tensor ids() { return Tensor::from(std::vector<int32_t>{1, 6, 0, 10}, {1, 4}); }
  Tensor embedding() const {
    for (const auto& [name, tensor] : tensors) {
      if (name == "model.embed_tokens.weight") return tensor;
    }
    return {};
  }

  const TempDir dir;
  const std::string path = dir.file("model"), weights = path + "/model.safetensors", config = path + "/config.json";
  std::unique_ptr<Transformer> model;
  NamedTensors tensors;
};

}  // namespace

TEST_CASE("pretrained: a head that differs from the tied embedding is used", "[nn][pretrained]") {
  Folder folder(/*tied=*/true);
  const std::vector<double> tied = folder.logits();
  folder.tensors.emplace_back("lm_head.weight", folder.embedding().clone());
  folder.save();
  CHECK(folder.logits() == tied);  // an equal one says nothing new

  // The logits of twice the embedding as the head are twice those of the embedding.
  folder.tensors.back().second = folder.embedding() * 2.0;
  folder.save();
  std::vector<double> twice = tied;
  for (double& x : twice) x *= 2;
  CHECK(folder.logits() == twice);
}

TEST_CASE("pretrained: a head that is missing is named", "[nn][pretrained]") {
  Folder folder(/*tied=*/true);
  folder.set("tie_word_embeddings", false);
  const std::string error = error_of([&] { folder.logits(); });
  INFO(error);
  CHECK(contains(error, "there is no tensor 'lm_head.weight', and tie_word_embeddings is false in"));
}

TEST_CASE("pretrained: names without 'model.', as AutoModel saves them", "[nn][pretrained]") {
  Folder folder(/*tied=*/true);
  const std::vector<double> before = folder.logits();
  for (auto& [name, tensor] : folder.tensors) {
    if (name.starts_with("model.")) name.erase(0, 6);
  }
  folder.save();
  CHECK(folder.logits() == before);
}

TEST_CASE("pretrained: a window that no layer has is no window", "[nn][pretrained]") {
  Folder folder(/*tied=*/false);
  folder.set("use_sliding_window", true);
  CHECK(contains(error_of([&] { folder.logits(); }), "'use_sliding_window' is true"));
  folder.set("max_window_layers", 1);
  CHECK(contains(error_of([&] { folder.logits(); }), "'use_sliding_window' is true"));
  folder.set("max_window_layers", 2);
  CHECK(error_of([&] { folder.logits(); }).empty());
}

TEST_CASE("pretrained: pointers of Git LFS and pytorch_model.bin are named", "[nn][pretrained]") {
  Folder folder(/*tied=*/true);
  std::ofstream(folder.weights) << "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 269060552\n";
  CHECK(contains(error_of([&] { folder.logits(); }), "this is a pointer of Git LFS, not the file itself"));
  std::filesystem::remove(folder.weights);
  std::ofstream(folder.path + "/pytorch_model.bin") << "PK";
  CHECK(contains(error_of([&] { folder.logits(); }), "the folder has its weights as pytorch_model.bin"));
}
