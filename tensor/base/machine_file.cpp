// The folder and the name of a machine's file.
#include "tensor/base/machine_file.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tensor/base/text.h"

namespace pg {

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
