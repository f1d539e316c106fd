#pragma once
// The element types of model files, one table for safetensors and GGUF. A type that is quantised packs a block of
// elements of one row into a few bytes: whole numbers of few bits, and the numbers that scale them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

struct StoredType {
  // What decode() writes for each element: every value of the type is exact in it.
  enum class Decoded : uint8_t { f32, f64, i64 };

  std::string name;          // "BF16", "Q4_1": the name in both containers
  int ggml = -1;             // the number in GGUF files; -1: GGUF has no such type
  bool safetensors = false;  // safetensors files may have it
  int64_t block = 1;         // elements per block; a row is a whole number of blocks
  int64_t bytes = 0;         // bytes per block
  Decoded decoded = Decoded::f32;
  // Decodes `blocks` blocks at `from`, at any alignment, to block * blocks elements at `to`. The arithmetic of the
  // quantised types is that of gguf-py's dequantize (https://github.com/ggml-org/llama.cpp, gguf-py/gguf/quants.py),
  // each operation rounded to float.
  void (*decode)(const std::byte* from, int64_t blocks, void* to) = nullptr;
};

// The types of safetensors first, the widest first: the order of the data in files that are written.
const std::vector<StoredType>& stored_types();
// Throws Error "WHAT has dtype 'NAME'; F64, ... can be read" if no safetensors type has this name.
const StoredType& safetensors_type(std::string_view what, std::string_view name);
// Throws Error "WHAT has type NUMBER; F32 (0), ... can be read" if the table has no GGUF type of this number.
const StoredType& ggml_type(std::string_view what, uint32_t number);

// IEEE half precision to float: exact; the payload of a NaN is kept.
float half_to_float(uint16_t half);

}  // namespace pg
