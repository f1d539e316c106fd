#pragma once
// The JSON of safetensors, parsed and checked: the header of a file, and the index of a model in several files. Private
// to the readers of nn/ and their tests.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/files/stored_type.h"

namespace pg::detail {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference reader's limit

struct HeaderTensor {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // byte offsets from the start of the data
};

struct SafetensorsHeader {
  std::vector<HeaderTensor> tensors;  // sorted by begin
  std::map<std::string, std::string> metadata;
};

// `json` is the header's text, `data_bytes` the size of the data that follow it in the file. The tensors must tile the
// data exactly, else an Error names `path`, the tensor and the reason.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path);

// The index of a model in several files.
struct SafetensorsIndex {
  std::map<std::string, std::string> weight_map;  // from the name of a tensor to that of its file, in the same folder
  std::optional<uint64_t> total_size;             // bytes of all tensors
};

// `json` is the text of the file at `path`. An Error names `path` and the key: a key or a tensor twice, a file name
// with a folder or without .safetensors, a value of another type.
SafetensorsIndex parse_safetensors_index(std::string_view json, const std::string& path);

}  // namespace pg::detail
