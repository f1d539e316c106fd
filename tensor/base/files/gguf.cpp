// Reads the GGUF container.
#include "tensor/base/files/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr uint64_t kMaxName = 65535;          // bytes of a key, by the specification
constexpr uint64_t kMaxAlignment = 1u << 20;  // llama.cpp writes 32
constexpr uint32_t kMaxDims = 4;              // ggml's limit
constexpr int kMaxDepth = 4;                  // of arrays in arrays

enum class Family : uint8_t { unsigned_integer, signed_integer, floating, boolean, other };

struct TypeRow {
  std::string_view name;
  uint64_t size;  // bytes in the file; for strings and arrays those of the lengths alone
  Family family;
};

// By number.
constexpr std::array<TypeRow, 13> kTypes = {{{"u8", 1, Family::unsigned_integer},
                                             {"i8", 1, Family::signed_integer},
                                             {"u16", 2, Family::unsigned_integer},
                                             {"i16", 2, Family::signed_integer},
                                             {"u32", 4, Family::unsigned_integer},
                                             {"i32", 4, Family::signed_integer},
                                             {"f32", 4, Family::floating},
                                             {"bool", 1, Family::boolean},
                                             {"string", 8, Family::other},
                                             {"array", 12, Family::other},
                                             {"u64", 8, Family::unsigned_integer},
                                             {"i64", 8, Family::signed_integer},
                                             {"f64", 8, Family::floating}}};

const TypeRow& row_of(GgufType type) { return kTypes[static_cast<size_t>(type)]; }

std::string describe(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.value);
  return array ? fmt::format("array of {}", name_of(array->type)) : std::string(name_of(value.type));
}

// A number or boolean at `from`.
GgufValue load_scalar(GgufType type, const std::byte* from) {
  uint64_t bits = 0;
  const uint64_t size = row_of(type).size;
  std::memcpy(&bits, from, size);
  switch (row_of(type).family) {
    case Family::signed_integer: {
      const auto shift = static_cast<int>(64 - 8 * size);  // moves the sign to the highest bit
      return {type, static_cast<int64_t>(bits << shift) >> shift};
    }
    case Family::floating:
      if (size == 4) return {type, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))};
      return {type, std::bit_cast<double>(bits)};
    case Family::boolean:
      return {type, bits != 0};
    case Family::unsigned_integer:
    case Family::other:
      break;
  }
  return {type, bits};
}

// Null if the value is no integer, or does not fit.
std::optional<int64_t> as_integer(const GgufValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value.value)) return *number;
  const auto* number = std::get_if<uint64_t>(&value.value);
  if (number && *number <= INT64_MAX) return static_cast<int64_t>(*number);
  return {};
}

std::optional<double> as_number(const GgufValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&value.value)) return static_cast<double>(*number);
  return {};
}

// Reads from the start of the file to its end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // The next `size` bytes, of `what`.
  std::span<const std::byte> take(uint64_t size, std::string_view what) {
    if (size > remaining()) {
      fail("gguf {}: {} needs {} bytes at byte {}, but {} remain: is the file truncated?", path_, what, size, position_,
           remaining());
    }
    const auto taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  // A number of things that take at least `least` bytes each.
  uint64_t count(std::string_view what, uint64_t least) {
    const auto value = number<uint64_t>(what);
    check(value <= remaining() / least, "gguf {}: {} is {}, more than the {} bytes that remain can hold", path_, what,
          value, remaining());
    return value;
  }

  std::string_view string(std::string_view what) {
    const auto bytes = take(number<uint64_t>(what), what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string_view name(std::string_view what) {
    const std::string_view text = string(what);
    check(!text.empty() && text.size() <= kMaxName, "gguf {}: {} has {} bytes, expected 1 to {}", path_, what,
          text.size(), kMaxName);
    check(is_utf8(text), "gguf {}: {}, '{}', is not UTF-8", path_, what, printable(text));
    return text;
  }

  GgufType type(std::string_view key) {
    const auto number = this->number<uint32_t>("the type of a value");
    check(number < kTypes.size(), "gguf {}: the value of '{}' has type {}, expected 0 to {}", path_, excerpt(key),
          number, kTypes.size() - 1);
    return static_cast<GgufType>(number);
  }

  GgufValue value(GgufType type, std::string_view key) {
    if (type == GgufType::string) return {type, string("a string")};
    if (type == GgufType::array) return {type, array(key, 1)};
    const auto bytes = take(row_of(type).size, "a value");
    if (type == GgufType::boolean) check_booleans(bytes, key);
    return load_scalar(type, bytes.data());
  }

 private:
  // A text that may not be UTF-8, for messages.
  static std::string printable(std::string_view text) {
    std::string shown = excerpt(text);
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c >= 0x80; }, '?');
    return shown;
  }

  void check_booleans(std::span<const std::byte> bytes, std::string_view key) const {
    for (const std::byte byte : bytes) {
      check(byte <= std::byte{1}, "gguf {}: '{}' has a boolean of value {}, expected 0 or 1", path_, excerpt(key),
            static_cast<int>(byte));
    }
  }

  GgufArray array(std::string_view key, int depth) {
    check(depth <= kMaxDepth, "gguf {}: '{}' nests arrays more than {} deep", path_, excerpt(key), kMaxDepth);
    GgufArray array;
    array.type = type(key);
    const uint64_t size = row_of(array.type).size;
    array.count = count("the length of an array", size);
    if (array.type == GgufType::string) {
      array.strings.reserve(array.count);
      for (uint64_t i = 0; i < array.count; ++i) array.strings.push_back(string("a string"));
    } else if (array.type == GgufType::array) {
      for (uint64_t i = 0; i < array.count; ++i) array.arrays.push_back(this->array(key, depth + 1));
    } else {
      array.bytes = take(array.count * size, "an array");
      if (array.type == GgufType::boolean) check_booleans(array.bytes, key);
    }
    return array;
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  uint64_t position_ = 0;
};

// One description of a tensor; its offset still counts from the start of the data.
GgufTensor read_tensor(Cursor& cursor, const std::string& path) {
  GgufTensor tensor;
  tensor.name = cursor.name("the name of a tensor");
  const std::string what = fmt::format("gguf {}: tensor '{}'", path, excerpt(tensor.name));
  const auto rank = cursor.number<uint32_t>("the number of dimensions");
  check(rank <= kMaxDims, "{} has {} dimensions, at most {} are allowed", what, rank, kMaxDims);
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = cursor.number<uint64_t>("the size of a dimension");
    check(size <= INT64_MAX, "{} has a dimension of size {}, which is too large", what, size);
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
  tensor.type = &ggml_type(what, cursor.number<uint32_t>("the type of a tensor"));
  tensor.offset = cursor.number<uint64_t>("the offset of a tensor");

  const StoredType& type = *tensor.type;
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  check(row % type.block == 0, "{} has rows of {} elements, expected a multiple of {} for {}", what, row, type.block,
        type.name);
  int64_t span = 8;  // bytes of the largest element; sizes of 0 count as 1, because a stride is a product of sizes too
  bool empty = false, overflow = false;
  for (const int64_t size : tensor.shape) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(span, std::max<int64_t>(size, 1), &span);
  }
  check(!overflow, "{} of shape [{}] is too large", what, fmt::join(tensor.shape, ", "));
  tensor.bytes = empty ? 0 : static_cast<uint64_t>(span / 8 / type.block * type.bytes);
  return tensor;
}

}  // namespace

bool is_gguf_path(const std::string& path) {
  std::error_code error;
  if (path.ends_with(".gguf")) return !std::filesystem::is_directory(path, error);
  if (!std::filesystem::is_regular_file(path, error)) return false;  // the open of a pipe would wait for a writer
  char begin[4] = {};
  return std::ifstream(path, std::ios::binary).read(begin, 4) && std::string_view(begin, 4) == "GGUF";
}

std::vector<std::string> gguf_files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> found;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (is_gguf_path(entry->path().string())) found.push_back(entry->path().string());
  }
  check(!error, "open {}: {}", folder, error.message());
  std::sort(found.begin(), found.end());
  return found;
}

std::string_view name_of(GgufType type) { return row_of(type).name; }

GgufFile::GgufFile(std::shared_ptr<const MappedFile> file) : path_(file->path()), file_(std::move(file)) {
  bytes_ = file_->bytes();
  parse();
}

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string path) : path_(std::move(path)), bytes_(bytes) {
  parse();
}

void GgufFile::parse() {
  Cursor cursor(bytes_, path_);
  const auto magic = cursor.take(4, "the header");
  check(std::memcmp(magic.data(), "GGUF", 4) == 0, "gguf {}: the file does not begin with GGUF; is it a GGUF file?",
        path_);
  version_ = cursor.number<uint32_t>("the version");
  check((version_ & 0xffff) != 0 || version_ == 0, "gguf {}: the file is big-endian, expected little-endian", path_);
  check(version_ == 2 || version_ == 3, "gguf {}: the file has version {}, expected 2 or 3", path_, version_);
  const auto tensors = cursor.number<uint64_t>("the number of tensors");
  // A key with its length, a type and a value take at least 14 bytes; a tensor takes at least 25.
  const uint64_t keys = cursor.count("the number of keys", 14);
  check(tensors <= cursor.remaining() / 25,
        "gguf {}: the number of tensors is {}, more than the {} bytes that remain can hold", path_, tensors,
        cursor.remaining());

  for (uint64_t i = 0; i < keys; ++i) {
    const std::string_view key = cursor.name("a key");
    check(keys_.emplace(key, metadata_.size()).second, "gguf {}: the key '{}' appears twice", path_, excerpt(key));
    metadata_.emplace_back(key, cursor.value(cursor.type(key), key));
  }
  constexpr std::string_view alignment_key = "general.alignment";
  if (const GgufValue* value = find(alignment_key)) {
    if (value->type != GgufType::u32) fail_type(alignment_key, "u32", *value);
    alignment_ = std::get<uint64_t>(value->value);
    check(std::has_single_bit(alignment_) && alignment_ <= kMaxAlignment,
          "gguf {}: '{}' is {}, expected a power of two of at most {}", path_, alignment_key, alignment_,
          kMaxAlignment);
  }

  std::set<std::string_view> names;
  for (uint64_t i = 0; i < tensors; ++i) {
    tensors_.push_back(read_tensor(cursor, path_));
    const GgufTensor& tensor = tensors_.back();
    check(names.insert(tensor.name).second, "gguf {}: the tensor name '{}' appears twice", path_, excerpt(tensor.name));
    check(tensor.offset % alignment_ == 0, "gguf {}: the offset {} of tensor '{}' is no multiple of the alignment {}",
          path_, tensor.offset, excerpt(tensor.name), alignment_);
  }

  const uint64_t start = (cursor.position() + alignment_ - 1) / alignment_ * alignment_;
  std::vector<const GgufTensor*> by_offset;
  for (GgufTensor& tensor : tensors_) {
    const bool inside = start <= bytes_.size() && tensor.offset <= bytes_.size() - start &&
                        tensor.bytes <= bytes_.size() - start - tensor.offset;
    check(inside || tensor.bytes == 0,
          "gguf {}: the data of tensor '{}', {} bytes, begin {} bytes after byte {}, but the file has {}: is it "
          "truncated?",
          path_, excerpt(tensor.name), tensor.bytes, tensor.offset, start, bytes_.size());
    tensor.offset = inside ? start + tensor.offset : bytes_.size();
    if (tensor.bytes > 0) by_offset.push_back(&tensor);
  }
  std::sort(by_offset.begin(), by_offset.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const GgufTensor &before = *by_offset[i - 1], &tensor = *by_offset[i];
    check(before.offset + before.bytes <= tensor.offset, "gguf {}: the data of the tensors '{}' and '{}' overlap",
          path_, excerpt(before.name), excerpt(tensor.name));
  }
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufValue& GgufFile::at(std::string_view key) const {
  const GgufValue* value = find(key);
  check(value != nullptr, "gguf {}: there is no key '{}'", path_, key);
  return *value;
}

void GgufFile::fail_type(std::string_view key, std::string_view expected, const GgufValue& found) const {
  fail("gguf {}: the key '{}' has type {}, expected {}", path_, key, describe(found), expected);
}

std::string_view GgufFile::string_at(std::string_view key) const {
  const GgufValue& value = at(key);
  if (const auto* text = std::get_if<std::string_view>(&value.value)) return *text;
  fail_type(key, "string", value);
}

int64_t GgufFile::integer_at(std::string_view key) const {
  const GgufValue& value = at(key);
  if (const auto number = as_integer(value)) return *number;
  fail_type(key, "an integer below 2^63", value);
}

double GgufFile::number_at(std::string_view key) const {
  const GgufValue& value = at(key);
  if (const auto number = as_number(value)) return *number;
  fail_type(key, "a number", value);
}

bool GgufFile::bool_at(std::string_view key) const {
  const GgufValue& value = at(key);
  if (const auto* truth = std::get_if<bool>(&value.value)) return *truth;
  fail_type(key, "bool", value);
}

const GgufArray& GgufFile::array_at(std::string_view key, std::string_view expected) const {
  const GgufValue& value = at(key);
  if (const auto* array = std::get_if<GgufArray>(&value.value)) return *array;
  fail_type(key, expected, value);
}

const std::vector<std::string_view>& GgufFile::strings_at(std::string_view key) const {
  constexpr std::string_view expected = "array of string";
  const GgufArray& array = array_at(key, expected);
  if (array.type != GgufType::string) fail_type(key, expected, at(key));
  return array.strings;
}

std::vector<int64_t> GgufFile::integers_at(std::string_view key) const {
  constexpr std::string_view expected = "array of integers below 2^63";
  const GgufArray& array = array_at(key, expected);
  const Family family = row_of(array.type).family;
  if (family != Family::unsigned_integer && family != Family::signed_integer) fail_type(key, expected, at(key));
  std::vector<int64_t> values(array.count);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = as_integer(load_scalar(array.type, array.bytes.data() + i * row_of(array.type).size));
    if (!value) fail_type(key, expected, at(key));
    values[i] = *value;
  }
  return values;
}

std::vector<double> GgufFile::numbers_at(std::string_view key) const {
  constexpr std::string_view expected = "array of numbers";
  const GgufArray& array = array_at(key, expected);
  const Family family = row_of(array.type).family;
  if (family == Family::boolean || family == Family::other) fail_type(key, expected, at(key));
  std::vector<double> values(array.count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = *as_number(load_scalar(array.type, array.bytes.data() + i * row_of(array.type).size));
  }
  return values;
}

}  // namespace pg
