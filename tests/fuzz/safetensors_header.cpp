// Fuzz target: the header of a safetensors file. The first byte says how many bytes of data follow the header.
// sources: nn/files/safetensors_header.cpp tensor/base/files/stored_type.cpp tensor/base/text.cpp tensor/shape.cpp
// sources: tensor/base/json.cpp tensor/base/json_text.cpp
// seed: \010{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}
// seed: \010{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}}
// seed: \002{"\\u00e9":{"data_offsets":[0,2],"shape":[1,1],"dtype":"BF16"}}
#include "nn/files/safetensors_header.h"

#include <numeric>

#include "tensor/base/error.h"

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    const std::string_view json(reinterpret_cast<const char*>(data) + 1, size - 1);
    const detail::SafetensorsHeader header = detail::parse_safetensors_header(json, data[0], "input");
    // What the readers rely on.
    uint64_t end = 0;
    for (const detail::HeaderTensor& tensor : header.tensors) {
      const int64_t elements =
          std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<int64_t>());
      if (tensor.begin != end || tensor.end - tensor.begin != static_cast<uint64_t>(elements * tensor.type->bytes)) {
        __builtin_trap();
      }
      end = tensor.end;
    }
    if (end != data[0]) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
