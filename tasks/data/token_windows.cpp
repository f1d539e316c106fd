// Windows of token files, and their order.
#include "tasks/data/token_windows.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg {

namespace {

namespace fs = std::filesystem;

using Files = std::vector<std::shared_ptr<const TokenFile>>;

Files open_files(const std::string& path) {
  std::vector<std::string> paths = {path};
  if (fs::is_directory(path)) {
    paths.clear();
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == kTokenFileEnding) paths.push_back(entry.path().string());
    }
    check(!paths.empty(), "{}: the folder has no token file (*{}); pg tokenize pack makes one from texts", path,
          kTokenFileEnding);
    std::sort(paths.begin(), paths.end());
  }
  Files files;
  for (const std::string& name : paths) files.push_back(std::make_shared<const TokenFile>(name));
  return files;
}

TokenRange whole(const std::shared_ptr<const TokenFile>& file) { return {file, 0, file->header().tokens}; }

// The last tokens of the ranges become those of `val`.
void split_end(TokenSplit& split) {
  constexpr int64_t most = 1 << 20;
  const int64_t all = count_tokens(split.train);
  const auto share = static_cast<int64_t>(static_cast<double>(all) * 0.9);  // as split_text rounds
  int64_t left = std::min(all - share, most);
  while (left > 0) {
    TokenRange& last = split.train.back();
    const int64_t begin = std::max(last.begin, last.end - left);
    split.val.insert(split.val.begin(), {last.file, begin, last.end});
    left -= last.end - begin;
    last.end = begin;
    if (last.end == last.begin) split.train.pop_back();
  }
}

}  // namespace

int64_t count_tokens(const std::vector<TokenRange>& ranges) {
  int64_t tokens = 0;
  for (const TokenRange& range : ranges) tokens += range.end - range.begin;
  return tokens;
}

void check_tokenizer(const TokenSplit& split, const TokenTexts& texts, const std::string& owner) {
  for (const auto* ranges : {&split.train, &split.val}) {
    for (const TokenRange& range : *ranges) {
      const TokenFileHeader& header = range.file->header();
      check(header.vocabulary == texts.sha256 && header.vocab_size == std::ssize(texts.bytes),
            "{}: the file was made with another tokenizer, of {} tokens, than that of {}, which has {}",
            range.file->path(), header.vocab_size, owner, texts.bytes.size());
    }
  }
}

int64_t count_bytes(const std::vector<TokenRange>& ranges, const TokenTexts& texts) {
  int64_t bytes = 0;
  for (const TokenRange& range : ranges) {
    const TokenFileHeader& header = range.file->header();
    if (range.begin == 0 && range.end == header.tokens) {
      bytes += header.bytes;
      continue;
    }
    std::vector<int32_t> ids;
    constexpr int64_t block = 1 << 16;
    for (int64_t at = range.begin; at < range.end; at += std::ssize(ids)) {
      ids.resize(static_cast<size_t>(std::min(block, range.end - at)));
      range.file->read(at, ids);
      for (const int32_t id : ids) {
        if (id != header.end_id) bytes += texts.bytes.at(static_cast<size_t>(id));
      }
    }
  }
  return bytes;
}

TokenSplit open_tokens(const std::string& data, const std::string& val) {
  TokenSplit split;
  for (const auto& file : open_files(data)) {
    const bool validates =
        val.empty() && fs::is_directory(data) && fs::path(file->path()).filename().string().starts_with("val");
    (validates ? split.val : split.train).push_back(whole(file));
  }
  check(!split.train.empty(),
        "{}: all token files of the folder are for validation; the name of one for training "
        "does not begin with \"val\"",
        data);
  if (!val.empty()) {
    for (const auto& file : open_files(val)) split.val.push_back(whole(file));
  }
  const TokenFile& first = *split.train[0].file;
  for (const auto* ranges : {&split.train, &split.val}) {
    for (const TokenRange& range : *ranges) {
      check(range.file->header().vocabulary == first.header().vocabulary,
            "{} and {} are encoded by different tokenizers", first.path(), range.file->path());
    }
  }
  if (split.val.empty()) split_end(split);
  return split;
}

TokenWindows::TokenWindows(std::vector<TokenRange> ranges, int64_t length)
    : ranges_(std::move(ranges)), length_(length) {
  check(length >= 1, "TokenWindows: the length must be at least 1, got {}", length);
  int64_t count = 0;
  for (const TokenRange& range : ranges_) {
    count += std::max<int64_t>(0, range.end - range.begin - 1) / length;
    ends_.push_back(count);
  }
}

Windows TokenWindows::batch(const std::vector<int64_t>& windows) const {
  Windows batch = {.rows = std::ssize(windows), .length = length_, .x = {}, .y = {}};
  std::vector<int32_t> ids(static_cast<size_t>(length_) + 1);
  for (const int64_t window : windows) {
    check(window >= 0 && window < count(), "TokenWindows: expected a window in [0, {}), got {}", count(), window);
    const auto k = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), window) - ends_.begin());
    const TokenRange& range = ranges_[k];
    range.file->read(range.begin + (window - (k > 0 ? ends_[k - 1] : 0)) * length_, ids);
    batch.x.insert(batch.x.end(), ids.begin(), ids.end() - 1);
    batch.y.insert(batch.y.end(), ids.begin() + 1, ids.end());
  }
  return batch;
}

Windows TokenWindows::batch(int64_t first, int64_t rows) const {
  std::vector<int64_t> windows(static_cast<size_t>(rows));
  std::iota(windows.begin(), windows.end(), first);
  return batch(windows);
}

ShuffledWindows::ShuffledWindows(TokenWindows windows, uint64_t seed) : windows_(std::move(windows)), seed_(seed) {
  check(windows_.count() > 0, "ShuffledWindows: there is no window");
}

Windows ShuffledWindows::next(int64_t rows) {
  std::vector<int64_t> chosen;
  for (int64_t b = 0; b < rows; ++b, ++drawn) {
    const auto epoch = static_cast<uint64_t>(drawn / windows_.count());
    const auto words = philox4x32(seed_, epoch, 2);  // random_stream has 1 as the last argument
    const IndexPermutation order(windows_.count(), uint64_t{words[0]} << 32 | words[1]);
    chosen.push_back(order(drawn % windows_.count()));
  }
  return windows_.batch(chosen);
}

namespace {

constexpr uint64_t kRounds = 8;

}  // namespace

IndexPermutation::IndexPermutation(int64_t size, uint64_t key) : size_(size), key_(key) {
  check(size >= 1, "IndexPermutation: the size must be at least 1, got {}", size);
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(size) - 1));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

int64_t IndexPermutation::operator()(int64_t i) const {
  check(i >= 0 && i < size_, "IndexPermutation: expected an index in [0, {}), got {}", size_, i);
  const uint64_t left_mask = (uint64_t{1} << left_bits_) - 1, right_mask = (uint64_t{1} << right_bits_) - 1;
  auto x = static_cast<uint64_t>(i);
  do {
    uint64_t left = x >> right_bits_, right = x & right_mask;
    for (uint64_t round = 0; round < kRounds; round += 2) {
      left ^= philox4x32(key_, right, round)[0] & left_mask;
      right ^= philox4x32(key_, left, round + 1)[0] & right_mask;
    }
    x = left << right_bits_ | right;
  } while (x >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(x);
}

}  // namespace pg
