// Token files: the header, the tokenizer's identity, and reading ids.
#include "tasks/data/token_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are mapped, and they are little-endian");

constexpr std::string_view kMagic = "pgtokens";
constexpr uint32_t kVersion = 1;
constexpr size_t kHashSize = 64;  // hexadecimal digits
constexpr int64_t kLargest = int64_t{1} << 53;

// The numbers of the header after magic, version and width, in their order.
struct Number {
  int64_t TokenFileHeader::*value;
  int64_t low, high;
  const char* name;
};
constexpr Number kNumbers[] = {{&TokenFileHeader::vocab_size, 1, INT32_MAX, "size of the vocabulary"},
                               {&TokenFileHeader::tokens, 0, kLargest, "number of ids"},
                               {&TokenFileHeader::bytes, 0, kLargest, "number of bytes of the text"},
                               {&TokenFileHeader::texts, 0, kLargest, "number of texts"},
                               {&TokenFileHeader::end_id, -1, INT32_MAX, "id that follows a text"}};

void check_header(const TokenFileHeader& h, const std::string& path) {
  check(h.width == 2 || h.width == 4, "{}: ids of {} bytes; a token file has ids of 2 or 4", path, h.width);
  for (const Number& number : kNumbers) {
    const int64_t value = h.*number.value;
    check(value >= number.low && value <= number.high, "{}: the {} must be from {} to {}, got {}", path, number.name,
          number.low, number.high, value);
  }
  check(h.width == 4 || h.vocab_size <= 65536, "{}: ids of 2 bytes cannot have a vocabulary of {}", path, h.vocab_size);
  check(h.end_id < h.vocab_size, "{}: the id {} that follows a text is not in the vocabulary of {}", path, h.end_id,
        h.vocab_size);
  check(h.vocabulary.size() == kHashSize && h.vocabulary.find_first_not_of("0123456789abcdef") == std::string::npos,
        "{}: the SHA-256 of the tokenizer is damaged", path);
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

template <class T>
void copy_ids(const std::byte* from, std::span<int32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    T id;
    std::memcpy(&id, from + i * sizeof id, sizeof id);
    ids[i] = static_cast<int32_t>(id);  // an id of 2^31 or more becomes negative
  }
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

uint64_t hash_with(uint64_t hash, int64_t id) { return mix_bits(hash ^ (static_cast<uint64_t>(id) + 1)); }

std::string TokenFileHeader::to_bytes() const {
  check_header(*this, "token file");
  std::string out(kMagic);
  put(out, kVersion);
  put(out, static_cast<uint32_t>(width));
  for (const Number& number : kNumbers) put(out, this->*number.value);
  put(out, hash);
  return out + vocabulary;
}

TokenFileHeader TokenFileHeader::from_bytes(std::string_view bytes, size_t file_size, const std::string& path) {
  check(TokenFile::has_magic(bytes), "{}: this is no token file; pg tokenize pack makes one from texts", path);
  check(bytes.size() >= size && file_size >= size, "{}: the file is cut: {} bytes, and its header has {}", path,
        file_size, size);
  bytes = bytes.substr(kMagic.size(), size - kMagic.size());
  TokenFileHeader h;
  const auto version = take<uint32_t>(bytes);
  check(version != kVersion << 24,
        "{}: the numbers of this token file are big-endian; only little-endian ones are read", path);
  check(version == kVersion, "{}: the version of this token file is {}; version {} is read", path, version, kVersion);
  h.width = take<uint32_t>(bytes);
  for (const Number& number : kNumbers) h.*number.value = take<int64_t>(bytes);
  h.hash = take<uint64_t>(bytes);
  h.vocabulary = bytes;
  check_header(h, path);
  const auto present = static_cast<int64_t>(file_size - size);
  check(h.tokens <= present / h.width, "{}: the file is cut: {} ids, and its header says {}", path, present / h.width,
        h.tokens);
  check(h.tokens * h.width == present, "{}: {} bytes follow the {} ids of the header", path,
        present - h.tokens * h.width, h.tokens);
  return h;
}

TokenTexts::TokenTexts(const Tokenizer& tokenizer) {
  std::string all;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string text;
    uint32_t length = UINT32_MAX;  // no token has this id
    try {
      text = tokenizer.continuation(-1, static_cast<int32_t>(id));
      length = static_cast<uint32_t>(text.size());
    } catch (const Error&) {
    }
    bytes.push_back(static_cast<int32_t>(text.size()));
    put(all, length);
    all += text;
  }
  sha256 = pg::sha256(all);
}

TokenFile::TokenFile(const std::string& path)
    : file_(path),
      header_(TokenFileHeader::from_bytes(
          text_of(file_.bytes().first(std::min(file_.bytes().size(), TokenFileHeader::size))), file_.bytes().size(),
          path)) {}

bool TokenFile::has_magic(std::string_view begin) { return begin.starts_with(kMagic); }

void TokenFile::read(int64_t first, std::span<int32_t> ids) const {
  const int64_t count = std::ssize(ids);
  check(first >= 0 && count <= header_.tokens && first <= header_.tokens - count,
        "{}: the ids [{}, {}) were asked for, the file has {}", path(), first, first + count, header_.tokens);
  file_.check_size();
  const std::byte* from = file_.bytes().data() + TokenFileHeader::size + first * header_.width;
  header_.width == 2 ? copy_ids<uint16_t>(from, ids) : copy_ids<uint32_t>(from, ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] >= 0 && ids[i] < header_.vocab_size, "{}: token {} has the id {}, the vocabulary has {}", path(),
          first + static_cast<int64_t>(i), static_cast<uint32_t>(ids[i]), header_.vocab_size);
  }
}

void TokenFile::verify() const {
  std::vector<int32_t> ids;
  uint64_t hash = 0;
  constexpr int64_t block = 1 << 16;
  for (int64_t at = 0; at < header_.tokens; at += std::ssize(ids)) {
    ids.resize(static_cast<size_t>(std::min(block, header_.tokens - at)));
    read(at, ids);
    for (const int32_t id : ids) hash = hash_with(hash, id);
  }
  check(hash == header_.hash,
        "{}: the file is damaged: the hash of its ids is {:016x}, and its header says {:016x}; take a copy of it, or "
        "make "
        "it again with pg tokenize pack",
        path(), hash, header_.hash);
}

bool is_token_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // the open of a pipe would wait for a writer
  std::ifstream in(path, std::ios::binary);
  char begin[kMagic.size()] = {};
  return in.read(begin, sizeof begin) && TokenFile::has_magic({begin, sizeof begin});
}

}  // namespace pg
