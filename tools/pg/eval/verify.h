#pragma once
// Compares files with the checksums that they carry, for pg info --verify.
#include <string>
#include <vector>

namespace pg::tools {

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
