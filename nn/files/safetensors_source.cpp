// Maps safetensors files and reads indices of shards.
#include "nn/files/safetensors_source.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "nn/files/safetensors_header.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Opened {
  std::vector<SourceTensor> tensors;
  std::map<std::string, std::string> metadata;
};

Opened open_file(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  const std::string& path = file.path();
  check(bytes.size() >= 8, "load {}: {} bytes are too few for a safetensors file", path, bytes.size());
  check(!text_of(bytes).starts_with("version https://git-lfs"),
        "load {}: this is a pointer of Git LFS, not the file itself; `git lfs pull` gets it", path);
  const std::string_view start = text_of(bytes).substr(0, 8);
  check(!std::all_of(start.begin(), start.end(), [](unsigned char c) { return c >= ' ' || c == '\n' || c == '\t'; }),
        "load {}: this is a text, no safetensors file", path);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  check(header_bytes <= detail::kMaxHeaderBytes,
        "load {}: a header of {} bytes, at most {} are allowed; is this a safetensors file?", path, header_bytes,
        detail::kMaxHeaderBytes);
  check(header_bytes <= bytes.size() - 8, "load {}: a header of {} bytes in a file of {}: is it truncated?", path,
        header_bytes, bytes.size());
  const auto data = bytes.subspan(8 + header_bytes);
  detail::SafetensorsHeader header =
      detail::parse_safetensors_header(text_of(bytes.subspan(8, header_bytes)), data.size(), path);
  Opened opened{{}, std::move(header.metadata)};
  opened.metadata.erase(kChecksumKey);
  for (detail::HeaderTensor& tensor : header.tensors) {
    opened.tensors.push_back({std::move(tensor.name), tensor.type, Shape(tensor.shape),
                              data.subspan(tensor.begin, tensor.end - tensor.begin), &file});
  }
  return opened;
}

// "a, b, c and 5 more"
std::string shortened(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", '" : "'") + excerpt(names[i]) + "'";
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
}

}  // namespace

TensorSource open_safetensors(std::shared_ptr<const MappedFile> file) {
  Opened opened = open_file(*file);
  const std::string path = file->path();
  return TensorSource(path, std::move(opened.tensors), std::move(opened.metadata), {std::move(file)});
}

TensorSource open_safetensors_index(const std::string& path) {
  const MappedFile text(path);
  const detail::SafetensorsIndex index = detail::parse_safetensors_index(text_of(text.bytes()), path);
  std::set<std::string> names;  // of the files
  for (const auto& [tensor, file] : index.weight_map) names.insert(file);

  std::vector<SourceTensor> tensors;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::set<std::string> found;
  std::vector<std::string> extra, missing;
  uint64_t total = 0;
  for (const std::string& name : names) {
    files.push_back(std::make_shared<MappedFile>((std::filesystem::path(path).parent_path() / name).string()));
    for (SourceTensor& tensor : open_file(*files.back()).tensors) {
      const auto place = index.weight_map.find(tensor.name);
      if (place == index.weight_map.end() || place->second != name) {
        extra.push_back(tensor.name);
        continue;
      }
      found.insert(tensor.name);
      total += tensor.data.size();
      tensors.push_back(std::move(tensor));
    }
  }
  for (const auto& [tensor, file] : index.weight_map) {
    if (!found.contains(tensor)) missing.push_back(tensor);
  }
  check(missing.empty(), "load {}: the files that the index names for them do not have the tensors {}", path,
        shortened(missing));
  check(extra.empty(), "load {}: files have tensors that the index does not name for them: {}", path, shortened(extra));
  check(!index.total_size || *index.total_size == total, "load {}: total_size is {}, but the tensors have {} bytes",
        path, index.total_size.value_or(0), total);
  return TensorSource(path, std::move(tensors), {}, std::move(files));
}

}  // namespace pg
