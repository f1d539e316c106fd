#pragma once
// Public data files: where they come from, how they are recognised, and how they get here.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pg {

struct DataFile {
  std::string name;  // in every local folder and on a mirror
  std::string url;   // the original public source
  int64_t bytes;
  std::string sha256;
  std::string licence;
};

// Every file the project knows. Error for an unknown name lists them.
const std::vector<DataFile>& data_manifest();
const DataFile& data_file(const std::string& name);

struct FetchPlaces {
  std::string data;            // POLICYGRAD_DATA: a folder of files already here, read only; may be empty
  std::string cache = "data";  // POLICYGRAD_CACHE: where downloads go
  std::string mirror;          // POLICYGRAD_MIRROR: base URL asked for mirror/NAME instead of the original source
  static FetchPlaces from_environment();
};

// The path of `file` in the data folder or the cache, "" when it is in neither. Error when a file is there but differs
// from the manifest.
std::string find_data(const DataFile& file, const FetchPlaces& places = FetchPlaces::from_environment());

// find_data, else a download into the cache by curl: resumed when an earlier one was cut, checked (size, SHA-256), then
// renamed into place. `progress` hears (bytes so far, bytes in all) a few times a second.
// Error in one sentence when it cannot be had.
std::string fetch_data(const DataFile& file, const FetchPlaces& places = FetchPlaces::from_environment(),
                       const std::function<void(int64_t, int64_t)>& progress = {});

struct Corpus {
  std::string name;  // "tinyshakespeare", "stories" or the file's path
  std::string text;
  std::string note;  // one sentence when this is not what was asked for or not as it was stored, else empty
};

// The text to learn from. `data` is "tinyshakespeare" (fetched; when that fails, the built-in stories with a note that
// says why), "stories", or the path of any text file,
// read as unix_text (tasks/text_data.h).
Corpus load_corpus(const std::string& data, const FetchPlaces& places = FetchPlaces::from_environment(),
                   const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace pg
