#pragma once
// The safetensors container (https://github.com/huggingface/safetensors, "Format"): eight bytes with the header's
// length, a JSON header, the raw little-endian elements. A file is treated as hostile: every length, offset and shape
// is checked before it is believed, and no more memory is taken than the file has bytes for.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace pg {

// Tensors by name, in an order that means something (that of the parameters, or of the file).
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct SafetensorsFile {
  std::string path;                             // for messages
  NamedTensors tensors;                         // in the order of their data
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"

  // Null when there is none of that name.
  const Tensor* find(std::string_view name) const;
  // Error naming the file when there is none of that name.
  const Tensor& at(std::string_view name) const;
  const std::string& metadata_at(const std::string& key) const;
};

// Reads a whole file. F32, F64, BF16, I32 and U8 keep their type; F16 becomes f32, BOOL u8, and I64 i32 (Error when a
// value does not fit). Error naming the file, the tensor and the reason for anything else.
SafetensorsFile load_safetensors(const std::string& path);

// Writes a file that other readers of the format accept, atomically: the wider types first, then by name, so that all
// data are aligned. Names must be distinct; "__metadata__" is taken.
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace pg
