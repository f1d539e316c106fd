// Finds and verifies the checksum of a safetensors file.
#include <cstring>

#include "nn/files/safetensors_header.h"
#include "tensor/base/error.h"
#include "tensor/base/files/crc32c.h"
#include "tensor/base/files/mapped_file.h"
#include "tensor/base/text.h"

namespace pg {

size_t place_of_checksum(std::string_view header) {
  // Quotes within the strings of JSON are escaped, so these are those of a key.
  const std::string key = fmt::format("\"{}\":\"", kChecksumKey);
  const size_t at = header.find(key);
  return at == std::string_view::npos ? at : at + key.size();
}

std::optional<uint32_t> verify_checksum(const MappedFile& file) {
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, all.data(), sizeof header_bytes);
  const size_t place = place_of_checksum(all.substr(sizeof header_bytes, header_bytes));
  if (place == std::string_view::npos) return {};
  file.check_size();
  const size_t begin = sizeof header_bytes + place, end = begin + kNoChecksum.size();
  const std::string_view told = all.substr(begin, kNoChecksum.size());
  check(
      told.size() == kNoChecksum.size() && told.find_first_not_of("0123456789abcdef") == std::string_view::npos,
      "read {}: the file is damaged: its metadata '{}' must have eight hexadecimal digits, got '{}'; take a copy of it "
      "or another checkpoint",
      file.path(), kChecksumKey, excerpt(told));
  const uint32_t crc = crc32c(all.substr(end), crc32c(kNoChecksum, crc32c(all.substr(0, begin))));
  check(told == fmt::format("{:08x}", crc),
        "read {}: the file is damaged: its checksum (CRC-32C) is {:08x}, and the file says {}; take a copy of it or "
        "another checkpoint. A program that changes such a file must leave out its metadata '{}'",
        file.path(), crc, excerpt(told), kChecksumKey);
  return crc;
}

std::map<std::string, std::optional<uint32_t>> verify_checksums(const TensorSource& source) {
  std::map<std::string, std::optional<uint32_t>> checksums;
  if (source.gguf()) return checksums;
  for (const SourceTensor& tensor : source.tensors()) {
    if (!checksums.contains(tensor.file->path())) checksums[tensor.file->path()] = verify_checksum(*tensor.file);
  }
  return checksums;
}

}  // namespace pg
