#pragma once
// The safetensors container (https://github.com/huggingface/safetensors, "Format"): eight bytes with the header's
// length, a JSON header, then the raw little-endian elements. The reader does not trust the file: it checks every
// length, offset and shape before using it, and allocates no more memory than the file has bytes for.
#include <map>
#include <string>
#include <string_view>

#include "nn/module.h"

namespace pg {

struct SafetensorsFile {
  std::string path;                             // for messages
  NamedTensors tensors;                         // in the order of their data
  std::map<std::string, std::string> metadata;  // the header's "__metadata__" without the checksum

  // Null if there is none of that name.
  const Tensor* find(std::string_view name) const;
  // An Error names the file if there is none of that name.
  const Tensor& at(std::string_view name) const;
  const std::string& metadata_at(const std::string& key) const;
};

// Reads a whole file. F32, F64, BF16, I32 and U8 keep their type; F16 becomes f32, BOOL u8, and I64 i32 (Error if a
// value does not fit). For anything else an Error names the file, the tensor and the reason. A file with a checksum
// (nn/files/safetensors_header.h) is compared with it; an Error names the file if they differ.
SafetensorsFile load_safetensors(const std::string& path);

// Writes a file atomically that other readers of the format accept: wider types first, then by name, so that all data
// are aligned. Names must be distinct; "__metadata__" is reserved. The file gets a checksum.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace pg
