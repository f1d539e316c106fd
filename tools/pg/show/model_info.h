#pragma once
// What a file or folder that is no run holds, for pg info: a GGUF file, a Hugging Face folder, a token file. And
// whether files are as their checksums say, for pg info --verify.
#include <string>
#include <vector>

#include "tensor/base/json.h"

namespace pg::tools {

// A JSON object with the key "format"; null if `path` is none of these. Headers are read, weights are not. Error if the
// file is damaged.
Json describe_file(const std::string& path);
// What describe_file returned, as lines on standard output.
void print_file(const Json& json);
// A line "WHAT           VALUE". The values of all lines begin in one column: WHAT has at most 14 letters.
void show(const std::string& what, const std::string& value);

struct VerifiedFile {
  std::string path;
  std::string checksum;  // "CRC-32C 1a2b3c4d", of the file; empty if the file has none
  std::string damage;    // an error's sentence; empty: the file is right, as far as it can be told
};

// Reads whole what is at `path`: a checkpoint or another safetensors file, a token file, a GGUF file, or all of these
// that are in a folder (of a run, a model, adapters or token files), in the order of their names. A checkpoint is
// opened and its shards must be there; an index of shards must fit its files. Error if there is no such file.
std::vector<VerifiedFile> verify_files(const std::string& path);

}  // namespace pg::tools
