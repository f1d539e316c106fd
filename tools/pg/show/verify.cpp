// Verifies checkpoints, models, adapters and token files.
#include <algorithm>
#include <filesystem>

#include "nn/files/checkpoint.h"
#include "nn/files/safetensors_header.h"
#include "nn/files/tensor_source.h"
#include "tasks/data/token_file.h"
#include "tensor/base/error.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/show/model_info.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".safetensors", ".safetensors.index.json", kTokenFileEnding, ".gguf"};

bool has_ending(const std::string& name) {
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](const char* end) { return name.ends_with(end); });
}

// Error if the checkpoint's state cannot be read or a shard is missing.
void check_checkpoint(const std::string& path) {
  for (const std::string& shard : load_checkpoint(path).shards) {
    check(fs::exists(fs::path(path).parent_path() / shard), "{}: its shard {} is missing", path, shard);
  }
}

// The checksum of a file, as text.
std::string verify_file(const std::string& path) {
  if (is_token_file(path) || path.ends_with(kTokenFileEnding)) {
    const TokenFile file(path);
    file.verify();
    return fmt::format("hash {:016x}", file.header().hash);
  }
  const TensorSource source = open_tensors(path);
  const auto checksums = verify_checksums(source);
  if (source.metadata().contains("policygrad")) check_checkpoint(path);
  const auto found = checksums.find(path);
  return found == checksums.end() || !found->second ? "" : fmt::format("CRC-32C {:08x}", *found->second);
}

std::vector<std::string> files_at(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (has_ending(entry.path().filename().string())) files.push_back(entry.path().string());
  }
  check(!files.empty(), "info: {} has no file with a checksum: no checkpoint, no weights, no token file", path);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<VerifiedFile> verify_files(const std::string& path) {
  std::vector<VerifiedFile> result;
  for (const std::string& file : files_at(path)) {
    VerifiedFile verified{file, "", ""};
    try {
      verified.checksum = verify_file(file);
    } catch (const Error& e) {
      verified.damage = e.what();
    }
    result.push_back(std::move(verified));
  }
  return result;
}

}  // namespace pg::tools
