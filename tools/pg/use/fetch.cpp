// pg fetch: downloads a text.
#include "tasks/data/fetch.h"

#include <unistd.h>

#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {

namespace {

struct FetchOptions {
  std::vector<std::string> names;  // of data files or sets; empty: all files without a set
  std::string from;
  bool list = false;
};

int fetch(const FetchOptions& options) {
  std::vector<DataFile> files;
  for (const auto& name : options.names) {
    const std::vector<DataFile> named = data_files(name);
    files.insert(files.end(), named.begin(), named.end());
  }
  if (files.empty()) {
    for (const DataFile& file : data_manifest()) {
      if (file.set.empty() || options.list) files.push_back(file);
    }
  }
  check(options.from.empty() || files.size() == 1, "fetch: --from is the file that has one name, these are {} files",
        files.size());
  if (!options.from.empty()) {
    fmt::print("{}: {} bytes, checked\n", store_data(files[0], options.from), files[0].bytes);
    return 0;
  }

  int status = 0;
  for (const auto& file : files) {
    if (options.list) {
      const std::string path = find_data(file);
      fmt::print("{}\n  from     {}\n  bytes    {}\n  sha256   {}\n  licence  {}\n  here     {}\n", file.name, file.url,
                 file.bytes, file.sha256, file.licence, path.empty() ? "no" : path);
      continue;
    }
    const bool terminal = isatty(STDERR_FILENO) == 1;
    try {
      const std::string path = fetch_data(file, FetchPlaces::from_environment(), [&](int64_t done, int64_t total) {
        if (terminal) remark(stderr, "\r{}  {:3} %\x1b[K", file.name, done * 100 / total);
      });
      if (terminal) remark(stderr, "\r\x1b[K");
      fmt::print("{}: {} bytes, checked\n", path, file.bytes);
    } catch (const Error& e) {
      if (terminal) remark(stderr, "\r\x1b[K");
      remark(stderr, "pg fetch: {}\n", e.what());
      status = 1;
    }
  }
  if (status != 0) {
    remark(stderr,
           "pg fetch: `pg fetch NAME --from FILE` takes a copy that is here, or a .whl or .zip that contains it\n");
  }
  return status;
}

}  // namespace

Command fetch_command() {
  const auto o = std::make_shared<FetchOptions>();
  return {.name = "fetch",
          .about = "download the public data files",
          .fields = {{"from", &o->from, "a copy that is already here, or an archive (.whl, .zip) with it"},
                     flag("list", o->list, "show where each file comes from and whether it is here")},
          .run = [o](Given&) { return fetch(*o); },
          .arguments = {
              {"names", &o->names, "files or sets of files to get; default: those of no set", /*required=*/false}}};
}

}  // namespace pg::tools
