#pragma once
// Builds model files byte by byte for tests.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tensor/base/files/gguf.h"
#include "tensor/base/files/stored_type.h"
#include "tests/catch.h"

namespace pg::testing {

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

// A safetensors file of this header and these data.
inline std::string safetensors_file(const std::string& json, const std::string& data) {
  return bytes_of<uint64_t>({json.size()}) + json + data;
}

// The parts of a GGUF file. Every field may be set to something wrong.
struct GgufBuilder {
  struct TensorInfo {
    std::string name;
    std::vector<uint64_t> sizes;  // innermost first, as in the file
    uint32_t type;
    uint64_t offset;
  };

  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<std::pair<std::string, std::string>> metadata;  // key, then the bytes of type and value
  std::vector<TensorInfo> tensors;
  std::string data;
  uint64_t alignment = 32;
  int64_t more_keys = 0, more_tensors = 0;  // added to the counts of the header

  static std::string text(const std::string& value) { return bytes_of<uint64_t>({value.size()}) + value; }
  static std::string type(GgufType type) { return bytes_of({static_cast<uint32_t>(type)}); }
  template <class T>
  void number(const std::string& key, GgufType its_type, T value) {
    metadata.emplace_back(key, type(its_type) + bytes_of<T>({value}));
  }
  void string(const std::string& key, const std::string& value) {
    metadata.emplace_back(key, type(GgufType::string) + text(value));
  }
  // `bytes`: the elements.
  void array(const std::string& key, GgufType element, uint64_t count, const std::string& bytes) {
    metadata.emplace_back(key, type(GgufType::array) + type(element) + bytes_of<uint64_t>({count}) + bytes);
  }
  // Adds a tensor whose data begin at the next multiple of the alignment.
  void tensor(const std::string& name, std::vector<uint64_t> sizes, uint32_t its_type, const std::string& bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    tensors.push_back({name, std::move(sizes), its_type, data.size()});
    data += bytes;
  }

  std::string file() const {
    std::string file = magic + bytes_of({version}) +
                       bytes_of({tensors.size() + static_cast<uint64_t>(more_tensors),
                                 metadata.size() + static_cast<uint64_t>(more_keys)});
    for (const auto& [key, value] : metadata) file += text(key) + value;
    for (const TensorInfo& tensor : tensors) {
      file += text(tensor.name) + bytes_of({static_cast<uint32_t>(tensor.sizes.size())});
      for (const uint64_t size : tensor.sizes) file += bytes_of({size});
      file += bytes_of({tensor.type}) + bytes_of({tensor.offset});
    }
    if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }
};

// The values of blocks of a stored type.
inline std::vector<float> decoded(const std::string& type, const std::string& bytes) {
  for (const StoredType& row : stored_types()) {
    if (row.name != type) continue;
    REQUIRE(row.decoded == StoredType::Decoded::f32);
    const int64_t blocks = static_cast<int64_t>(bytes.size()) / row.bytes;
    REQUIRE(blocks * row.bytes == static_cast<int64_t>(bytes.size()));
    std::vector<float> values(static_cast<size_t>(blocks * row.block));
    row.decode(reinterpret_cast<const std::byte*>(bytes.data()), blocks, values.data());
    return values;
  }
  FAIL("no type " << type);
  return {};
}

inline GgufFile parse_gguf(const std::string& file) { return {std::as_bytes(std::span(file)), "model.gguf"}; }

}  // namespace pg::testing
