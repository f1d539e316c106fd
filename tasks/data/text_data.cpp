// A text as token ids, split into training and validation.
#include "tasks/data/text_data.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "tensor/base/error.h"

namespace pg {

namespace {
void append_window(Windows& batch, std::span<const int32_t> tokens, int64_t start) {
  const int32_t* at = tokens.data() + start;
  batch.x.insert(batch.x.end(), at, at + batch.length);
  batch.y.insert(batch.y.end(), at + 1, at + batch.length + 1);
}

Windows empty_batch(int64_t rows, int64_t length) {
  Windows batch{rows, length, {}, {}};
  batch.x.reserve(static_cast<size_t>(rows * length));
  batch.y.reserve(static_cast<size_t>(rows * length));
  return batch;
}
}  // namespace

std::string read_file(const std::string& path) {
  std::error_code error;  // ignored: opening the file fails too
  const auto kind = std::filesystem::status(path, error).type();
  check(kind != std::filesystem::file_type::directory, "read {}: it is a folder, expected a file", path);
  check(kind != std::filesystem::file_type::character, "read {}: it is a device, expected a file", path);
  // Not by a stream, which ends early and says nothing if memory runs out.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rbe"), std::fclose);
  check(in != nullptr, "read {}: {}", path, std::strerror(errno));
  std::string text;
  std::vector<char> block(1 << 16);
  while (const size_t read = std::fread(block.data(), 1, block.size(), in.get())) text.append(block.data(), read);
  check(std::ferror(in.get()) == 0, "read {}: {}", path, std::strerror(errno));
  return text;
}

std::string unix_text(std::string text, const std::string& name, std::string& note) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  const bool marked = text.starts_with(mark);
  std::string plain;
  plain.reserve(text.size());
  int64_t changed = 0;
  for (size_t i = marked ? mark.size() : 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++changed;
    } else {
      plain += text[i];
    }
  }
  if (!marked && changed == 0) return text;
  note = fmt::format("{}: {}{}{}.", name, marked ? "the byte order mark is left out" : "",
                     marked && changed > 0 ? ", and " : "",
                     changed > 0 ? fmt::format("{} line ends of Windows (CRLF) are read as LF", changed) : "");
  return plain;
}

TextData split_text(std::vector<int32_t> tokens, double train_share) {
  check(train_share > 0 && train_share <= 1, "split_text: the training share must be in (0, 1], got {}", train_share);
  const auto train_size = static_cast<int64_t>(static_cast<double>(tokens.size()) * train_share);
  TextData data;
  data.val.assign(tokens.begin() + train_size, tokens.end());
  tokens.resize(static_cast<size_t>(train_size));
  data.train = std::move(tokens);
  return data;
}

Windows random_batch(std::span<const int32_t> tokens, int64_t rows, int64_t length, Generator& g) {
  const auto size = static_cast<int64_t>(tokens.size());
  check(rows >= 1 && length >= 1, "random_batch: rows and length must be at least 1, got {} and {}", rows, length);
  check(size > length,
        "random_batch: windows of {} tokens need a text of at least {}, got {}; use a longer text or a "
        "shorter context",
        length, length + 1, size);
  Windows batch = empty_batch(rows, length);
  for (int64_t b = 0; b < rows; ++b) append_window(batch, tokens, g.integer(size - length));
  return batch;
}

int64_t window_count(std::span<const int32_t> tokens, int64_t length) {
  check(length >= 1, "window_count: length must be at least 1, got {}", length);
  return tokens.empty() ? 0 : (static_cast<int64_t>(tokens.size()) - 1) / length;
}

Windows window_batch(std::span<const int32_t> tokens, int64_t first, int64_t rows, int64_t length) {
  const int64_t count = window_count(tokens, length);
  check(first >= 0 && rows >= 1 && first <= count - rows,
        "window_batch: windows [{}, {}) requested, the text has {} of length {}", first, first + rows, count, length);
  Windows batch = empty_batch(rows, length);
  for (int64_t b = 0; b < rows; ++b) append_window(batch, tokens, (first + b) * length);
  return batch;
}

}  // namespace pg
