// Fuzz target: the index of a safetensors model in several files.
// sources: nn/files/safetensors_header.cpp tensor/base/files/stored_type.cpp tensor/base/text.cpp tensor/shape.cpp
// sources: tensor/base/json.cpp tensor/base/json_text.cpp
// seed: {"metadata":{"total_size":44,"x":[1.5,null,{"y":true}]},"weight_map":{"a.b":"1-2.safetensors"}}
// seed: {"weight_map":{"a":"one.safetensors","b":"two.safetensors"},"metadata":{"total_size":1e3}}
#include "nn/files/safetensors_header.h"
#include "tensor/base/error.h"

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const std::string_view json(reinterpret_cast<const char*>(data), size);
    for (const auto& [tensor, file] : detail::parse_safetensors_index(json, "input").weight_map) {
      // A name that could leave the folder of the index.
      if (file.find('/') != std::string::npos || file.find('\0') != std::string::npos || file == "..") __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
