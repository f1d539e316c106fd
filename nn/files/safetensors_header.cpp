// Parses and checks the header of a safetensors file and the index of several.
#include "nn/files/safetensors_header.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tensor/base/json_events.h"
#include "tensor/base/text.h"
#include "tensor/format.h"
#include "tensor/shape.h"

namespace pg::detail {
namespace {

// Parses the JSON as a stream, so that a malicious header cannot take more memory than its valid parts need.
class HeaderReader : public JsonEvents {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& path) : header_(header), path_(path) {}

  void start_object() override {
    if (state_ == State::start) {
      state_ = State::top;
    } else if (state_ == State::top_value) {
      state_ = in_metadata_ ? State::metadata : State::tensor;
    } else {
      refuse("an object");
    }
  }

  void key(std::string& text) override {
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
  }

  void end_object() override {
    if (state_ == State::tensor) {
      const char* missing = !seen_type_ ? "dtype" : !seen_shape_ ? "shape" : !seen_offsets_ ? "data_offsets" : nullptr;
      if (missing) fail("load {}: tensor '{}' has no '{}'", path_, excerpt(place_), missing);
    }
    state_ = State::top;
  }

  void start_array() override {
    if (state_ == State::shape) {
      state_ = State::shape_items;
    } else if (state_ == State::offsets) {
      state_ = State::offset_items;
      num_offsets_ = 0;
    } else {
      refuse("an array");
    }
  }

  void end_array() override {
    if (state_ == State::offset_items && num_offsets_ != 2) {
      fail("load {}: tensor '{}' needs two data_offsets, got {}", path_, excerpt(place_), num_offsets_);
    }
    state_ = State::tensor;
  }

  void string(std::string& text) override {
    if (state_ == State::metadata_value) {
      *metadata_value_ = std::move(text);
      state_ = State::metadata;
    } else if (state_ == State::type) {
      header_.tensors.back().type =
          &safetensors_type(fmt::format("load {}: tensor '{}'", path_, excerpt(place_)), text);
      state_ = State::tensor;
    } else {
      refuse("a string");
    }
  }

  void whole(uint64_t value) override {
    HeaderTensor* tensor = header_.tensors.empty() ? nullptr : &header_.tensors.back();
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
  }

  void integer(int64_t) override { refuse("a negative number"); }
  void real(double) override { refuse("a number that is not an integer"); }
  void boolean(bool) override { refuse("true or false"); }
  void null() override { refuse("null"); }

  void error(size_t position, const char*) override {
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

  [[noreturn]] void refuse(const char* what) const {
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

// Parses the JSON as a stream: an index with keys given twice is refused, and values of no interest take no memory.
class IndexReader : public JsonEvents {
 public:
  IndexReader(SafetensorsIndex& index, const std::string& path) : index_(index), path_(path) {}

  void start_object() override {
    if (depth_ == 1 && section_ == "weight_map") has_map_ = true;
    open(depth_ == 0 || (depth_ == 1 && section_ == "weight_map"), "an object");
  }
  void start_array() override { open(false, "an array"); }
  void end_object() override { --depth_; }
  void end_array() override { --depth_; }

  void key(std::string& text) override {
    if (depth_ == 1) {
      if (!sections_.insert(text).second) fail("load {}: the key '{}' appears twice", path_, excerpt(text));
      section_ = text;
      key_.clear();
    }
    if (depth_ == 2) key_ = text;
  }

  void string(std::string& text) override {
    if (depth_ == 2 && section_ == "weight_map") {
      const bool is_new = index_.weight_map.emplace(key_, text).second;
      if (!is_new) fail("load {}: the weight_map names the tensor '{}' twice", path_, excerpt(key_));
      check_file_name(text);
      return;
    }
    value("a string");
  }

  void whole(uint64_t number) override {
    if (!at_total_size()) return value("a number");
    if (index_.total_size) fail("load {}: total_size appears twice", path_);
    index_.total_size = number;
  }
  void real(double number) override {
    if (!at_total_size()) return value("a number");
    // Some programs write 1.5e10. Above 2^53 a double is no exact count of bytes.
    if (number < 0 || number > 0x1p53 || number != std::floor(number)) refuse("a number that is no size");
    whole(static_cast<uint64_t>(number));
  }
  void integer(int64_t) override { value("a negative number"); }
  void boolean(bool) override { value("true or false"); }
  void null() override { value("null"); }
  void error(size_t position, const char*) override {
    fail("load {}: the index is not valid JSON (at byte {})", path_, position);
  }

  void finish() const { check(has_map_, "load {}: the index has no weight_map", path_); }

 private:
  bool at_total_size() const { return depth_ == 2 && section_ == "metadata" && key_ == "total_size"; }

  [[noreturn]] void refuse(const char* what) const {
    fail("load {}: the index has {} where the format allows none (at '{}')", path_, what,
         excerpt(depth_ < 2 ? section_ : key_));
  }
  // A value that is ignored, except where something else must be.
  void value(const char* what) const {
    if (depth_ == 0 || section_ == "weight_map" || at_total_size()) refuse(what);
  }
  void open(bool expected, const char* what) {
    if (!expected) value(what);
    ++depth_;
  }

  // A file name of another folder could name any file of the machine.
  void check_file_name(const std::string& name) const {
    const bool plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (plain && name.ends_with(".safetensors") && name != ".safetensors") return;
    fail("load {}: tensor '{}' is in '{}', expected the name of a .safetensors file in the same folder", path_,
         excerpt(key_), excerpt(name));
  }

  SafetensorsIndex& index_;
  const std::string& path_;
  int depth_ = 0;
  bool has_map_ = false;
  std::string section_ = "start", key_;
  std::set<std::string> sections_;
};

// Size of a tensor in bytes. Error if this size, or the strides of a tensor without elements, do not fit in 63 bits.
uint64_t stored_bytes(const HeaderTensor& tensor, const std::string& path) {
  auto span = tensor.type->bytes;
  bool empty = false, overflow = false;
  for (int64_t size : tensor.shape) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(span, std::max<int64_t>(size, 1), &span);
  }
  check(!overflow, "load {}: tensor '{}' of shape {} is too large", path, tensor.name, Shape(tensor.shape));
  return empty ? 0 : static_cast<uint64_t>(span);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& path) {
  check(!json.empty() && json[0] == '{', "load {}: the header does not start with '{{'; is this a safetensors file?",
        path);
  SafetensorsHeader header;
  HeaderReader reader(header, path);
  read_json(json, reader);

  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t position = 0;
  for (const HeaderTensor& tensor : header.tensors) {
    check(tensor.begin == position,
          "load {}: the data of tensor '{}' begin at byte {}, expected {}: a hole or an overlap", path, tensor.name,
          tensor.begin, position);
    check(tensor.end >= tensor.begin && tensor.end <= data_bytes,
          "load {}: the data of tensor '{}' are at bytes {} to {} according to the header, but the file has {}: is it "
          "truncated?",
          path, tensor.name, tensor.begin, tensor.end, data_bytes);
    const uint64_t expected = stored_bytes(tensor, path);
    check(tensor.end - tensor.begin == expected,
          "load {}: tensor '{}', {} {}, needs {} bytes, its data_offsets span {}", path, tensor.name, tensor.type->name,
          Shape(tensor.shape), expected, tensor.end - tensor.begin);
    position = tensor.end;
  }
  check(position == data_bytes, "load {}: {} bytes follow the last tensor", path, data_bytes - position);
  return header;
}

SafetensorsIndex parse_safetensors_index(std::string_view json, const std::string& path) {
  check(json.size() <= kMaxHeaderBytes, "load {}: an index of {} bytes, at most {} are allowed", path, json.size(),
        kMaxHeaderBytes);
  SafetensorsIndex index;
  IndexReader reader(index, path);
  read_json(json, reader);
  reader.finish();
  return index;
}

}  // namespace pg::detail
