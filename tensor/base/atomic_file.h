#pragma once
// Files that are written atomically: a reader never sees a half-written file.
#include <cstddef>
#include <string>
#include <string_view>

namespace pg {

// Writes `path` through a temporary file in the same folder, `path`.<process>-<number>.tmp. A reader, or a machine that
// stops at any time, finds the old file or the new one, never a part. Two processes that write one path do not disturb
// each other; the last rename wins. A process that is killed leaves its temporary file: the next one that writes `path`
// removes it. It tells it from that of a living process by the lock (flock) that such a one holds. An Error names the
// path and the system's reason, or says that the path is a device or a pipe.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // without commit(): removes the temporary file; the old file stays
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  // Replaces bytes that have been written, from byte `offset` on: the header, once it is known.
  void rewrite(size_t offset, const void* data, size_t bytes);
  void commit();  // syncs to the disk, then renames to `path`

 private:
  [[noreturn]] void fail_with_errno(const char* action) const;

  std::string path_, temporary_;
  int file_ = -1;
};

// Creates the folder, and those above it, unless it is there. An Error names it and the system's reason.
void make_folder(const std::string& path);
void write_file_atomically(const std::string& path, std::string_view content);

// The name of the file that a temporary file of AtomicFile is written for: "a.json" for "a.json.12-0.tmp". Empty for
// any other name.
std::string_view name_of_temporary(std::string_view temporary);

// `kind`-<checksum of machine>.txt in the folder POLICYGRAD_CACHE, else XDG_CACHE_HOME/policygrad, else
// ~/.cache/policygrad; "" if none of these variables is set. `machine`: everything that determines what was measured.
// Machines that share a home directory have a file each.
std::string machine_file(std::string_view kind, std::string_view machine);

}  // namespace pg
