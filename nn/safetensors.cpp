// Reads and writes safetensors files.
#include "nn/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/atomic_file.h"
#include "nn/safetensors_header.h"

namespace pg {

using detail::StoredTensor;
using detail::StoredType;

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian");

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference reader's limit

void read_exactly(std::ifstream& file, void* to, uint64_t bytes, const std::string& path) {
  file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  check(static_cast<uint64_t>(file.gcount()) == bytes, "load {}: the file ended early", path);
}

// IEEE half precision: 1 sign, 5 exponent, 10 fraction bits.
float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) {  // zero and subnormals: fraction · 2^-24
    return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f) | sign);
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

Tensor read_tensor(std::ifstream& file, const StoredTensor& stored, const std::string& path) {
  const uint64_t bytes = stored.end - stored.begin;
  const Shape shape(stored.shape);
  const auto read_as = [&](DType dtype) {
    Tensor tensor = Tensor::empty(shape, dtype);
    read_exactly(file, tensor.view().data, bytes, path);
    return tensor;
  };
  switch (stored.type) {
    case StoredType::F64:
      return read_as(f64);
    case StoredType::F32:
      return read_as(f32);
    case StoredType::BF16:
      return read_as(bf16);
    case StoredType::I32:
      return read_as(i32);
    case StoredType::U8:
    case StoredType::BOOL:
      return read_as(u8);
    case StoredType::F16: {
      std::vector<uint16_t> halves(bytes / 2);
      read_exactly(file, halves.data(), bytes, path);
      Tensor tensor = Tensor::empty(shape, f32);
      std::transform(halves.begin(), halves.end(), tensor.data<float>().begin(), from_half);
      return tensor;
    }
    case StoredType::I64: {
      std::vector<int64_t> values(bytes / 8);
      read_exactly(file, values.data(), bytes, path);
      Tensor tensor = Tensor::empty(shape, i32);
      std::transform(values.begin(), values.end(), tensor.data<int32_t>().begin(), [&](int64_t value) {
        check(value >= INT32_MIN && value <= INT32_MAX, "load {}: tensor '{}' holds {}, which does not fit in i32",
              path, stored.name, value);
        return static_cast<int32_t>(value);
      });
      return tensor;
    }
  }
  fail("load {}: tensor '{}' has an unknown type", path, stored.name);
}

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return StoredType::F32;
    case DType::f64:
      return StoredType::F64;
    case DType::bf16:
      return StoredType::BF16;
    case DType::i32:
      return StoredType::I32;
    case DType::u8:
      break;
  }
  return StoredType::U8;
}

}  // namespace

const Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

const Tensor& SafetensorsFile::at(std::string_view name) const {
  const Tensor* tensor = find(name);
  check(tensor != nullptr, "{}: there is no tensor '{}'", path, name);
  return *tensor;
}

const std::string& SafetensorsFile::metadata_at(const std::string& key) const {
  const auto found = metadata.find(key);
  check(found != metadata.end(), "{}: the metadata have no '{}'", path, key);
  return found->second;
}

SafetensorsFile load_safetensors(const std::string& path) {
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(path, error);
  check(!error, "load {}: {}", path, error.message());
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "load {}: {}", path, std::strerror(errno));

  check(file_bytes >= 8, "load {}: {} bytes are too few for a safetensors file", path, file_bytes);
  uint64_t header_bytes = 0;
  read_exactly(file, &header_bytes, 8, path);
  check(header_bytes <= kMaxHeaderBytes,
        "load {}: a header of {} bytes, at most {} are allowed; is this a safetensors file?", path, header_bytes,
        kMaxHeaderBytes);
  check(header_bytes <= file_bytes - 8, "load {}: a header of {} bytes in a file of {}: is it truncated?", path,
        header_bytes, file_bytes);
  std::string json(header_bytes, '\0');
  read_exactly(file, json.data(), header_bytes, path);

  detail::SafetensorsHeader header = detail::parse_safetensors_header(json, file_bytes - 8 - header_bytes, path);
  SafetensorsFile result{path, {}, std::move(header.metadata)};
  for (StoredTensor& stored : header.tensors) {
    Tensor tensor = read_tensor(file, stored, path);
    result.tensors.emplace_back(std::move(stored.name), std::move(tensor));
  }
  return result;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  NamedTensors sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const StoredType type_a = stored_type(a.second.dtype()), type_b = stored_type(b.second.dtype());
    return std::tie(type_a, a.first) < std::tie(type_b, b.first);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> names = {"__metadata__"};
  uint64_t position = 0;
  for (const auto& [name, tensor] : sorted) {
    check(names.insert(name).second, "save {}: the tensor name '{}' is used twice or reserved", path, name);
    check(tensor.defined(), "save {}: tensor '{}' is undefined", path, name);
    const uint64_t end = position + static_cast<uint64_t>(tensor.numel()) * size_of(tensor.dtype());
    header.push_back({name,
                      {{"dtype", name_of(stored_type(tensor.dtype()))},
                       {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                       {"data_offsets", {position, end}}}});
    position = end;
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::exception& e) {
    fail("save {}: names and metadata must be UTF-8: {}", path, e.what());
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');  // aligns the start of the data
  check(json.size() <= kMaxHeaderBytes, "save {}: a header of {} bytes, readers accept {}", path, json.size(),
        kMaxHeaderBytes);

  AtomicFile file(path);
  const uint64_t header_bytes = json.size();
  file.write(&header_bytes, 8);
  file.write(json.data(), json.size());
  for (const auto& [name, tensor] : sorted) {
    const Tensor packed = tensor.contiguous_copy().to(Device{});
    file.write(packed.view().data, static_cast<size_t>(packed.numel()) * size_of(packed.dtype()));
  }
  file.commit();
}

}  // namespace pg
