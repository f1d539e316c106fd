// Parses and checks the header of a safetensors file.
#include "nn/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "tensor/base/text.h"
#include "tensor/format.h"
#include "tensor/shape.h"

namespace pg::detail {
namespace {

struct TypeInfo {
  const char* name;
  uint64_t size;
};
constexpr std::array<TypeInfo, 8> kTypes = {
    {{"F64", 8}, {"I64", 8}, {"F32", 4}, {"I32", 4}, {"F16", 2}, {"BF16", 2}, {"U8", 1}, {"BOOL", 1}}};

// Parses the JSON as a stream, so that a malicious header cannot take more memory than its valid parts need.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& path) : header_(header), path_(path) {}

  bool start_object(size_t) override {
    if (state_ == State::start) {
      state_ = State::top;
    } else if (state_ == State::top_value) {
      state_ = in_metadata_ ? State::metadata : State::tensor;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (state_ == State::top) {
      if (!names_.insert(text).second) fail("load {}: the name '{}' appears twice", path_, excerpt(text));
      in_metadata_ = text == "__metadata__";
      place_ = text;
      if (!in_metadata_) {
        header_.tensors.emplace_back().name = text;
        seen_type_ = seen_shape_ = seen_offsets_ = false;
      }
      state_ = State::top_value;
    } else if (state_ == State::metadata) {
      if (header_.metadata.count(text)) fail("load {}: the metadata key '{}' appears twice", path_, excerpt(text));
      metadata_value_ = &header_.metadata[text];
      state_ = State::metadata_value;
    } else {
      bool& seen = text == "dtype"          ? seen_type_
                   : text == "shape"        ? seen_shape_
                   : text == "data_offsets" ? seen_offsets_
                                            : unknown_field(text);
      if (seen) fail("load {}: tensor '{}' has '{}' twice", path_, excerpt(place_), text);
      seen = true;
      state_ = text == "dtype" ? State::type : text == "shape" ? State::shape : State::offsets;
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::tensor) {
      const char* missing = !seen_type_ ? "dtype" : !seen_shape_ ? "shape" : !seen_offsets_ ? "data_offsets" : nullptr;
      if (missing) fail("load {}: tensor '{}' has no '{}'", path_, excerpt(place_), missing);
    }
    state_ = State::top;
    return true;
  }

  bool start_array(size_t) override {
    if (state_ == State::shape) {
      state_ = State::shape_items;
    } else if (state_ == State::offsets) {
      state_ = State::offset_items;
      num_offsets_ = 0;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::offset_items && num_offsets_ != 2) {
      fail("load {}: tensor '{}' needs two data_offsets, got {}", path_, excerpt(place_), num_offsets_);
    }
    state_ = State::tensor;
    return true;
  }

  bool string(std::string& text) override {
    if (state_ == State::metadata_value) {
      *metadata_value_ = std::move(text);
      state_ = State::metadata;
    } else if (state_ == State::type) {
      const auto found =
          std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& info) { return text == info.name; });
      if (found == kTypes.end()) {
        fail("load {}: tensor '{}' has dtype '{}'; F64, F32, F16, BF16, I64, I32, U8 and BOOL can be read", path_,
             excerpt(place_), excerpt(text));
      }
      header_.tensors.back().type = static_cast<StoredType>(found - kTypes.begin());
      state_ = State::tensor;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    StoredTensor* tensor = header_.tensors.empty() ? nullptr : &header_.tensors.back();
    if (state_ == State::shape_items) {
      if (tensor->shape.size() == kMaxDims) {
        fail("load {}: tensor '{}' has more than {} dimensions", path_, excerpt(place_), kMaxDims);
      }
      if (value > INT64_MAX) refuse("a size that large");
      tensor->shape.push_back(static_cast<int64_t>(value));
    } else if (state_ == State::offset_items) {
      if (num_offsets_ < 2) (num_offsets_ == 0 ? tensor->begin : tensor->end) = value;
      ++num_offsets_;
    } else {
      refuse("a number");
    }
    return true;
  }

  bool number_integer(int64_t) override { return refuse("a negative number"); }
  bool number_float(double, const std::string&) override { return refuse("a number that is not an integer"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool null() override { return refuse("null"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("load {}: the header is not valid JSON (at byte {} of the header)", path_, position);
  }

 private:
  enum class State : uint8_t {
    start,
    top,
    top_value,
    metadata,
    metadata_value,
    tensor,
    type,
    shape,
    shape_items,
    offsets,
    offset_items
  };

  bool refuse(const char* what) const {
    fail("load {}: the header has {} where the format allows none (at '{}')", path_, what, excerpt(place_));
  }
  bool& unknown_field(const std::string& text) {
    fail("load {}: tensor '{}' has an unknown field '{}'", path_, excerpt(place_), excerpt(text));
  }

  SafetensorsHeader& header_;
  const std::string& path_;
  State state_ = State::start;
  std::string place_ = "start";
  std::set<std::string> names_;
  std::string* metadata_value_ = nullptr;
  bool in_metadata_ = false, seen_type_ = false, seen_shape_ = false, seen_offsets_ = false;
  int num_offsets_ = 0;
};

// Size of a tensor in bytes. Error if this size, or the strides of a tensor without elements, do not fit in 63 bits.
uint64_t stored_bytes(const StoredTensor& tensor, const std::string& path) {
  auto span = static_cast<int64_t>(size_of(tensor.type));
  bool empty = false, overflow = false;
  for (int64_t size : tensor.shape) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(span, std::max<int64_t>(size, 1), &span);
  }
  check(!overflow, "load {}: tensor '{}' of shape {} is too large", path, tensor.name, Shape(tensor.shape));
  return empty ? 0 : static_cast<uint64_t>(span);
}

}  // namespace

const char* name_of(StoredType type) { return kTypes[static_cast<size_t>(type)].name; }
uint64_t size_of(StoredType type) { return kTypes[static_cast<size_t>(type)].size; }

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path) {
  check(!json.empty() && json[0] == '{', "load {}: the header does not start with '{{'; is this a safetensors file?",
        path);
  SafetensorsHeader header;
  HeaderReader reader(header, path);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);

  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t position = 0;
  for (const StoredTensor& tensor : header.tensors) {
    check(tensor.begin == position,
          "load {}: the data of tensor '{}' begin at byte {}, expected {}: a hole or an overlap", path, tensor.name,
          tensor.begin, position);
    check(tensor.end >= tensor.begin && tensor.end <= data_bytes,
          "load {}: the data of tensor '{}' are at bytes {} to {} according to the header, but the file has {}: is it "
          "truncated?",
          path, tensor.name, tensor.begin, tensor.end, data_bytes);
    const uint64_t expected = stored_bytes(tensor, path);
    check(tensor.end - tensor.begin == expected,
          "load {}: tensor '{}', {} {}, needs {} bytes, its data_offsets span {}", path, tensor.name,
          name_of(tensor.type), Shape(tensor.shape), expected, tensor.end - tensor.begin);
    position = tensor.end;
  }
  check(position == data_bytes, "load {}: {} bytes follow the last tensor", path, data_bytes - position);
  return header;
}

}  // namespace pg::detail
