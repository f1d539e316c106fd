#pragma once
// The checksum of a safetensors file: an entry of its metadata, "policygrad_crc32c", with eight hexadecimal digits. It
// is the CRC-32C of the whole file with zeros in place of these digits, so it finds a change of the header too. Private
// to the readers and the writer of nn/, and their tests.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nn/files/safetensors.h"
#include "nn/files/tensor_source.h"

namespace pg {

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
