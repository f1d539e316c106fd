#pragma once
// Token files: the ids of a text that is encoded once, mapped into memory when a model is trained on them.
//
// A token file is little-endian. Its header has 128 bytes:
//   offset  0  the 8 characters "pgtokens"
//   offset  8  u32 version, 1
//   offset 12  u32 width of an id in bytes: 2, or 4 for a vocabulary of more than 65536
//   offset 16  u64 size of the vocabulary
//   offset 24  u64 number of ids
//   offset 32  u64 number of bytes of the text, without end-of-text tokens
//   offset 40  u64 number of texts
//   offset 48  i64 the id that follows each text, -1 if none does
//   offset 56  u64 a hash of the ids in their order: hash_with() of each, from 0
//   offset 64  64 characters: TokenTexts::sha256 of the tokenizer
// The ids follow, u16 or u32, to the end of the file.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/data/tokenizer.h"
#include "tensor/base/files/mapped_file.h"

namespace pg {

inline constexpr const char* kTokenFileEnding = ".tokens";

// The hash of ids with one more at their end.
uint64_t hash_with(uint64_t hash, int64_t id);

struct TokenFileHeader {
  static constexpr size_t size = 128;  // bytes

  int64_t width = 2;
  int64_t vocab_size = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  int64_t texts = 0;
  int64_t end_id = -1;
  uint64_t hash = 0;
  std::string vocabulary;  // TokenTexts::sha256

  // The header as it is in the file. Error if a value is impossible.
  std::string to_bytes() const;
  // The header of a file of `file_size` bytes that begins with `bytes`. An Error begins with `path` and says what is
  // wrong: the magic, the version or the byte order, a value, or a number of ids that differs from the file's.
  static TokenFileHeader from_bytes(std::string_view bytes, size_t file_size, const std::string& path);
};

// What the tokens of a tokenizer stand for.
struct TokenTexts {
  explicit TokenTexts(const Tokenizer& tokenizer);

  std::vector<int32_t> bytes;  // the length of each token's text; 0 for an id that no token has
  // A SHA-256 of the texts in the order of their ids. Two tokenizers with equal ones decode all ids alike, whatever the
  // files are that they come from.
  std::string sha256;
};

class TokenFile {
 public:
  // Maps the file and checks its header. Error of MappedFile or TokenFileHeader::from_bytes.
  explicit TokenFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const TokenFileHeader& header() const { return header_; }
  // Whether the bytes at the beginning of a file are those of a token file.
  static bool has_magic(std::string_view begin);
  // The ids [first, first + ids.size()), of which each is compared with the size of the vocabulary. Error if the file
  // has no such ids, has become shorter, or has an id outside the vocabulary.
  void read(int64_t first, std::span<int32_t> ids) const;
  // Reads all ids. Error if their hash is not that of the header: the file is damaged.
  void verify() const;

 private:
  MappedFile file_;
  TokenFileHeader header_;
};

// Whether `path` is a regular file that begins as a token file does.
bool is_token_file(const std::string& path);

}  // namespace pg
