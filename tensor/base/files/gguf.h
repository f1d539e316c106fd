#pragma once
// The GGUF container of ggml and llama.cpp (https://github.com/ggml-org/ggml, docs/gguf.md), versions 2 and 3: a
// header, metadata (typed values by key), the descriptions of the tensors, their data. The reader does not trust the
// file: it checks every count, length and offset against the bytes that remain before it uses it.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/base/files/mapped_file.h"
#include "tensor/base/files/stored_type.h"

namespace pg {

// Whether a path is to be read as GGUF: a regular file that begins as GGUF does, whatever its name, or a name *.gguf,
// for which the reader says what is wrong with the file.
bool is_gguf_path(const std::string& path);
// The paths of the files in a folder that are to be read as GGUF, sorted. An Error names a folder that cannot be read.
std::vector<std::string> gguf_files_in(const std::string& folder);

enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view name_of(GgufType type);  // "u8", ..., "string"

// Elements of one type. Only one of the three lists is used: `bytes` for numbers and booleans.
struct GgufArray {
  GgufType type = GgufType::u8;
  uint64_t count = 0;
  std::span<const std::byte> bytes;  // little-endian, at any alignment
  std::vector<std::string_view> strings;
  std::vector<GgufArray> arrays;
};

// Unsigned types hold uint64_t, signed types int64_t, both float types double. Strings are bytes of any kind.
struct GgufValue {
  GgufType type = GgufType::u8;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray> value;
};

struct GgufTensor {
  std::string_view name;
  const StoredType* type = nullptr;
  std::vector<int64_t> shape;  // outermost dimension first (the file has the innermost first); at most four
  uint64_t offset = 0;         // from the start of the file
  uint64_t bytes = 0;
};

// Keys, strings and names are views of the file.
class GgufFile {
 public:
  // An Error names the file and what is wrong in it: another format, version or byte order, a length beyond the end, an
  // unknown type, a name that is used twice or is not UTF-8, data outside the file, data that overlap.
  explicit GgufFile(std::shared_ptr<const MappedFile> file);
  explicit GgufFile(const std::string& path) : GgufFile(std::make_shared<const MappedFile>(path)) {}
  // The same for bytes in memory, which the caller keeps; `path` is for messages.
  GgufFile(std::span<const std::byte> bytes, std::string path);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }  // of the tensors' offsets, in bytes
  // In the order of the file.
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  std::span<const std::byte> data(const GgufTensor& tensor) const {
    return bytes_.subspan(tensor.offset, tensor.bytes);
  }
  // The value of a key; null if there is none.
  const GgufValue* find(std::string_view key) const;
  // An Error names the key if it is missing, or has another type: then also the expected and the found type. An integer
  // may have any integer type, but must fit in an int64_t; a number is an integer or a float.
  std::string_view string_at(std::string_view key) const;
  int64_t integer_at(std::string_view key) const;
  double number_at(std::string_view key) const;
  bool bool_at(std::string_view key) const;
  const std::vector<std::string_view>& strings_at(std::string_view key) const;
  std::vector<int64_t> integers_at(std::string_view key) const;
  std::vector<double> numbers_at(std::string_view key) const;

 private:
  void parse();
  const GgufValue& at(std::string_view key) const;
  const GgufArray& array_at(std::string_view key, std::string_view expected) const;
  [[noreturn]] void fail_type(std::string_view key, std::string_view expected, const GgufValue& found) const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::map<std::string_view, size_t> keys_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace pg
