#pragma once
// The header of a safetensors file, parsed and checked. Private to nn/safetensors.cpp and its tests.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pg::detail {

enum class StoredType : uint8_t { F64, I64, F32, I32, F16, BF16, U8, BOOL };  // widest first: the writer's order
const char* name_of(StoredType type);
uint64_t size_of(StoredType type);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // byte offsets from the start of the data
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // sorted by begin
  std::map<std::string, std::string> metadata;
};

// `json` is the header's text, `data_bytes` the size of the data that follow it in the file. The tensors must tile the
// data exactly, else an Error names `path`, the tensor and the reason.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path);

}  // namespace pg::detail
