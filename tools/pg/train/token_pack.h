#pragma once
// Writes token files (tasks/data/token_file.h) from texts of any size.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/data/token_file.h"
#include "tasks/data/tokenizer.h"
#include "tensor/base/atomic_file.h"

namespace pg::tools {

// Writes a token file under a temporary name, and renames it when it is complete.
class TokenFileWriter {
 public:
  // `end_id`: the id that end_text() writes; -1: none. Error if `path` cannot be written, or the id is not in the
  // vocabulary. `texts` must outlive the writer.
  TokenFileWriter(const std::string& path, const TokenTexts& texts, int32_t end_id);

  // Error for an id outside the vocabulary.
  void add(std::span<const int32_t> ids);
  void end_text();
  void commit();
  const TokenFileHeader& header() const { return header_; }

 private:
  AtomicFile file_;
  const TokenTexts& texts_;
  TokenFileHeader header_;
  std::string encoded_;  // ids as bytes
};

struct PackOptions {
  std::vector<std::string> paths;  // files of text
  std::string separator = {};      // ends each text of a file, and is left out; "": a file is a text
  bool end_texts = true;           // the end-of-text token of the tokenizer, if it has one, follows each text
  bool special_tokens = true;      // EncodeOptions::special_tokens
  size_t part_bytes = 1 << 20;     // a text is cut at the first line_cut after this many bytes
  // Called with (bytes of text encoded, bytes of all files, ids written) after each group of parts. An exception ends
  // the packing, and no file is written.
  std::function<void(int64_t, int64_t, int64_t)> progress = {};
};

struct PackResult {
  TokenFileHeader header;
  std::vector<std::string> notes;  // a sentence for each file that was changed while it was read
};

// Encodes texts into the token file `out`, with the ids that encode gives for each whole text (without the tokens that
// the post-processor puts around it). The text is that of unix_text: without a leading byte order mark, with LF for
// CRLF. Empty texts are left out. The files are mapped, and a long text is encoded in parts, which are cut where the
// ids of the parts are those of the whole (BpeTokenizer::splits_at_line_cuts); parts are encoded on all cores. So
// memory depends on the longest stretch of text without such a place, not on the size of the texts. With a tokenizer
// that allows no cut, and with one that is no BpeTokenizer, memory is proportional to the longest text. Error if there
// is no text, and errors of MappedFile, encode and AtomicFile.
PackResult pack_tokens(const std::string& out, const Tokenizer& tokenizer, const PackOptions& options);

}  // namespace pg::tools
