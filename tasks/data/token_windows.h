#pragma once
// Batches from token files that are larger than memory, in a shuffled order that needs no memory.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tasks/data/text_data.h"
#include "tasks/data/token_file.h"

namespace pg {

// The tokens [begin, end) of a file.
struct TokenRange {
  std::shared_ptr<const TokenFile> file;
  int64_t begin = 0, end = 0;
};

int64_t count_tokens(const std::vector<TokenRange>& ranges);
struct TokenSplit {
  std::vector<TokenRange> train, val;
};
// The token files of `data`: one file, or those of a folder whose names end with ".tokens", in the order of their
// names. `val` is another such path, whose tokens are for validation. If it is "", those files of the folder are for
// validation whose names begin with "val"; if there are none, the last tenth of the tokens is, but at most 2^20 tokens,
// so that the loss over all of them stays affordable. For one file of fewer tokens this is split_text's split. Error if
// a folder has no token file, or if two files have different vocabularies.
TokenSplit open_tokens(const std::string& data, const std::string& val = "");
// Error that names the file if one was not made with the tokenizer of `owner`, whose TokenTexts are `texts`.
void check_tokenizer(const TokenSplit& split, const TokenTexts& texts, const std::string& owner);

// The bytes of the text of these tokens, without the tokens that follow each text. The header of a file states those of
// the whole file; a part of a file is read. The tokenizer must be checked.
int64_t count_bytes(const std::vector<TokenRange>& ranges, const TokenTexts& texts);

// The windows of length T, each with a following token for every position: window i of a range begins at token i T of
// it. A window does not reach beyond its range; what is left at the end of a range is in no window.
class TokenWindows {
 public:
  // Error if length < 1.
  TokenWindows(std::vector<TokenRange> ranges, int64_t length);

  int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  // x and y [B, T] of these windows. Error for an index outside [0, count()), and of TokenFile::read.
  Windows batch(const std::vector<int64_t>& windows) const;
  // The windows [first, first + rows).
  Windows batch(int64_t first, int64_t rows) const;

 private:
  std::vector<TokenRange> ranges_;
  std::vector<int64_t> ends_;  // windows of this range and those before it
  int64_t length_;
};

// Passes over all windows: each epoch is a permutation (IndexPermutation) that seed and epoch choose, so that every
// window is drawn once per epoch. Its whole state is the number of windows drawn so far: to resume, set drawn.
class ShuffledWindows {
 public:
  // Error if there is no window.
  ShuffledWindows(TokenWindows windows, uint64_t seed);

  // The next B windows. The last batch of an epoch is filled with windows of the next epoch.
  Windows next(int64_t rows);
  const TokenWindows& windows() const { return windows_; }

  int64_t drawn = 0;

 private:
  TokenWindows windows_;
  uint64_t seed_;
};

// A permutation of [0, size) that the key chooses. Index i is mapped without a table, so memory does not depend on
// `size`. It is a Feistel network (Luby & Rackoff 1988) of 8 rounds on the smallest power of two that is at least
// `size`, with halves of equal or neighbouring widths and Philox4x32-10 as the round function; an image of `size` or
// more is mapped again until it is smaller (cycle walking; Black & Rogaway 2002, "Ciphers with Arbitrary Finite
// Domains", section 3). The power of two is less than 2 size, so that fewer than two mappings are expected.
class IndexPermutation {
 public:
  // Error if size < 1.
  IndexPermutation(int64_t size, uint64_t key);

  int64_t size() const { return size_; }
  // The image of i. Error if i is outside [0, size).
  int64_t operator()(int64_t i) const;

 private:
  int64_t size_;
  uint64_t key_;
  int left_bits_, right_bits_;
};

}  // namespace pg
