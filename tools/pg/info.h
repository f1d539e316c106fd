#pragma once
// pg info: what a run is, its progress, and the command that continues it.
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pg::tools {

struct InfoOptions {
  std::vector<std::string> runs;  // folders or checkpoints
  bool json = false;
};
void add_info_options(CLI::App& app, InfoOptions& options);
int info(const InfoOptions& options);

}  // namespace pg::tools
