#include "tensor/base/machine_file.h"

#include <fmt/format.h>

#include <cstdlib>

namespace pg {

uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string machine_file(std::string_view kind, std::string_view machine) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("POLICYGRAD_CACHE");
  if (folder.empty() && !variable("XDG_CACHE_HOME").empty()) folder = variable("XDG_CACHE_HOME") + "/policygrad";
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache/policygrad";
  return folder.empty() ? "" : fmt::format("{}/{}-{:016x}.txt", folder, kind, checksum(machine));
}

}  // namespace pg
