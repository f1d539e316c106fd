// Fuzz target: a folder of PEFT: adapter_config.json, a zero byte, the header of adapter_model.safetensors as JSON, a
// zero byte, its data. Adapters that are read are written as the same; a model whose adapters are refused has none.
// sources: nn/files/peft.cpp nn/files/peft_pattern.cpp nn/files/safetensors_source.cpp nn/files/safetensors_header.cpp
// sources: nn/files/safetensors_checksum.cpp tensor/base/json.cpp tensor/base/json_text.cpp tensor/base/text.cpp
// libraries: pcre2-8
// archives: pg_models pg_files pg_nn pg_check pg_autograd pg_comm pg_tensor pg_base_files pg_base
// options: -max_len=1500 -dict=tests/fuzz/peft.dict
// seed-file: tests/fuzz/corpus/peft.q_proj
#include "nn/files/peft.h"

#include <filesystem>

#include "nn/files/safetensors.h"
#include "nn/variants/lora.h"
#include "tests/fuzz/driver/files.h"

using namespace pg;

namespace {

Transformer base() {
  return Transformer::zeros({.vocab_size = 3,
                             .block_size = 4,
                             .n_layer = 1,
                             .n_head = 2,
                             .n_embd = 4,
                             .bias = false,
                             .norm = NormKind::rms,
                             .positions = Positions::rope,
                             .mlp = MlpKind::swiglu});
}

// The text up to the next zero byte, which is removed from `rest` with it.
std::string_view take(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  const std::string folder = fuzz::path_of("adapters");
  std::filesystem::create_directories(folder);
  fuzz::file("adapters/adapter_config.json", take(rest));
  const std::string_view header = take(rest);
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file.append(header).append(rest);
  fuzz::file("adapters/adapter_model.safetensors", file);
  Transformer model = base();
  fuzz::no_worse_than_error([&] { load_peft(model, folder); });
  if (model.config.lora.rank == 0) {
    fuzz::expect(model.config == base().config);
    return 0;
  }
  const std::string written = fuzz::path_of("written");
  save_peft(model, written, "base");
  Transformer again = base();
  load_peft(again, written);
  fuzz::expect(again.config.lora == model.config.lora);
  return 0;
}
