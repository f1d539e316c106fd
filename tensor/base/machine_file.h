#pragma once
// The paths of files that keep what was measured on one machine, such as its fastest algorithms.
#include <string>
#include <string_view>

namespace pg {

// `kind`-<checksum of machine>.txt in the folder POLICYGRAD_CACHE, else XDG_CACHE_HOME/policygrad, else
// ~/.cache/policygrad; "" if none of these variables is set. `machine`: everything that determines what was measured.
// Machines that share a home directory have a file each.
std::string machine_file(std::string_view kind, std::string_view machine);

}  // namespace pg
