#pragma once
// The JSON of safetensors, parsed and checked: the header of a file, and the index of a model in several files; and the
// checksum of a file. Private to the readers of nn/ and their tests.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/files/safetensors.h"
#include "nn/files/tensor_source.h"
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

namespace pg {

// The checksum of a safetensors file: an entry of its metadata with eight hexadecimal digits. It is the CRC-32C of the
// whole file with zeros in place of these digits, so it finds a change of the header too.
inline constexpr const char* kChecksumKey = "policygrad_crc32c";
inline constexpr std::string_view kNoChecksum = "00000000";

// Where the digits are in a header's text; npos if it has no checksum.
size_t place_of_checksum(std::string_view header);

// The checksum of a file whose header is valid; none if it has none, as files of other programs do. Reads the file
// whole. An Error names the file if it differs from what the file has.
std::optional<uint32_t> verify_checksum(const MappedFile& file);
// The same for all files of a source that are safetensors files and have tensors, by their paths.
std::map<std::string, std::optional<uint32_t>> verify_checksums(const TensorSource& source);

// load_safetensors(), which verifies, and the checksum of the file.
struct LoadedSafetensors {
  SafetensorsFile file;
  std::optional<uint32_t> checksum;
};
LoadedSafetensors load_verified(const std::string& path);

}  // namespace pg
