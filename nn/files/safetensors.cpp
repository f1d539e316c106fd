// Reads and writes safetensors files.
#include "nn/files/safetensors.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "nn/files/safetensors_header.h"
#include "nn/files/safetensors_source.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/files/crc32c.h"
#include "tensor/base/json.h"

namespace pg {

namespace {

// The type in the file of elements of `dtype`.
const StoredType* stored_type(DType dtype) {
  const auto& types = stored_types();
  return &*std::find_if(types.begin(), types.end(), [&](const StoredType& type) { return same_bytes(type) == dtype; });
}

// The header of a file with the tensors in this order, and zeros for the checksum.
std::string header_of(const std::string& path, const NamedTensors& tensors,
                      std::map<std::string, std::string> metadata) {
  metadata[kChecksumKey] = kNoChecksum;
  Json header = {{"__metadata__", metadata}};
  std::set<std::string> names = {"__metadata__"};
  uint64_t position = 0;
  for (const auto& [name, tensor] : tensors) {
    check(names.insert(name).second, "save {}: the tensor name '{}' is used twice or reserved", path, name);
    check(tensor.defined(), "save {}: tensor '{}' is undefined", path, name);
    const uint64_t end = position + static_cast<uint64_t>(tensor.numel()) * size_of(tensor.dtype());
    header[name] = {{"dtype", stored_type(tensor.dtype())->name},
                    {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {position, end}}};
    position = end;
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const Error& e) {
    fail("save {}: names and metadata must be UTF-8: {}", path, e.what());
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');  // aligns the start of the data
  check(json.size() <= detail::kMaxHeaderBytes, "save {}: a header of {} bytes, readers accept {}", path, json.size(),
        detail::kMaxHeaderBytes);
  return json;
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

LoadedSafetensors load_verified(const std::string& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  const TensorSource source = open_safetensors(mapped);
  const std::optional<uint32_t> checksum = verify_checksum(*mapped);  // g++ 12 destroys twice if it throws below
  LoadedSafetensors result{{path, {}, source.metadata()}, checksum};
  for (const SourceTensor& tensor : source.tensors()) {
    result.file.tensors.emplace_back(tensor.name, source.read(tensor.name, default_dtype(*tensor.type)));
  }
  return result;
}

SafetensorsFile load_safetensors(const std::string& path) { return load_verified(path).file; }

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  NamedTensors sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    // The rows of the table have the order of the file.
    const StoredType *type_a = stored_type(a.second.dtype()), *type_b = stored_type(b.second.dtype());
    return std::tie(type_a, a.first) < std::tie(type_b, b.first);
  });
  const std::string header = header_of(path, sorted, metadata);

  AtomicFile file(path);
  uint32_t crc = 0;
  const auto write = [&](const void* data, size_t bytes) {
    file.write(data, bytes);
    crc = crc32c({static_cast<const char*>(data), bytes}, crc);
  };
  const uint64_t header_bytes = header.size();
  write(&header_bytes, sizeof header_bytes);
  write(header.data(), header.size());
  for (const auto& [name, tensor] : sorted) {
    const Tensor packed = tensor.contiguous_copy().to(Device{});
    write(packed.view().data, static_cast<size_t>(packed.numel()) * size_of(packed.dtype()));
  }
  const std::string digits = fmt::format("{:08x}", crc);
  file.rewrite(sizeof header_bytes + place_of_checksum(header), digits.data(), digits.size());
  file.commit();
}

}  // namespace pg
