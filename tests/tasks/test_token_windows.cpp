// Token files: the order of windows, headers that lie, and splits.
#include <fstream>
#include <numeric>
#include <set>

#include "tasks/data/token_windows.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/model_files.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Tokens "a", "b", … with one byte each, up to 26.
TokenList letters(int64_t count) {
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(std::string(1, static_cast<char>('a' + i)));
  return TokenList(tokens, /*words=*/false, /*end=*/0);
}

TokenFileHeader header_of(const std::vector<int64_t>& ids, int64_t width = 2) {
  TokenFileHeader h;
  h.width = width;
  h.vocab_size = 26;
  h.tokens = std::ssize(ids);
  h.bytes = h.tokens;
  h.texts = 1;
  h.vocabulary = TokenTexts(letters(26)).sha256;
  return h;
}

std::string with_ids(std::string header, const std::vector<int64_t>& ids, size_t width = 2) {
  for (const int64_t id : ids) header.append(reinterpret_cast<const char*>(&id), width);
  return header;
}

// A file of these ids.
void write_tokens(const std::string& path, const std::vector<int64_t>& ids) {
  write_bytes(path, with_ids(header_of(ids).to_bytes(), ids));
}

std::vector<int64_t> counting(int64_t n) {
  std::vector<int64_t> ids(static_cast<size_t>(n));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i % 26);
  return ids;
}

}  // namespace

TEST_CASE("IndexPermutation is a bijection for any size", "[token_file]") {
  for (int64_t size = 1; size <= 1000; ++size) {
    const IndexPermutation order(size, static_cast<uint64_t>(size) * 77);
    std::vector<bool> seen(static_cast<size_t>(size));
    bool all = true;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = order(i);
      REQUIRE((at >= 0 && at < size));
      all = all && !seen[static_cast<size_t>(at)];
      seen[static_cast<size_t>(at)] = true;
    }
    CHECK(all);
  }
  for (const int64_t size : {int64_t{65536}, int64_t{65537}, int64_t{1000003}}) {
    const IndexPermutation order(size, 5);
    std::vector<bool> seen(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) seen[static_cast<size_t>(order(i))] = true;
    CHECK(std::count(seen.begin(), seen.end(), true) == size);
  }
  const IndexPermutation huge((int64_t{1} << 53) + 3, 5);
  std::set<int64_t> images;
  for (int64_t i = 0; i < 10000; ++i) images.insert(huge(huge.size() - 1 - i));
  CHECK(images.size() == 10000);
  CHECK((*images.begin() >= 0 && *images.rbegin() < huge.size()));
  CHECK(contains(error_of([] { IndexPermutation(0, 1); }), "at least 1, got 0"));
  CHECK(contains(error_of([&] { huge(huge.size()); }), "expected an index in [0, "));
  CHECK(contains(error_of([&] { huge(-1); }), "got -1"));
}

TEST_CASE("every place of IndexPermutation is equally likely", "[token_file]") {
  // The share of keys that map i to j is 1 / n. The sum of the squared standard scores over a row is chi-square with
  // n - 1 degrees of freedom, which is above 4 (n - 1) with a probability of less than 1e-7 for n = 11.
  for (const int64_t size : {2, 3, 7, 11, 24}) {
    constexpr int64_t keys = 20000;
    std::vector<int64_t> counts(static_cast<size_t>(size * size));
    for (int64_t key = 0; key < keys; ++key) {
      const IndexPermutation order(size, static_cast<uint64_t>(key));
      for (int64_t i = 0; i < size; ++i) ++counts[static_cast<size_t>(i * size + order(i))];
    }
    const double expected = static_cast<double>(keys) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) {
      double chi = 0;
      for (int64_t j = 0; j < size; ++j) {
        const double off = static_cast<double>(counts[static_cast<size_t>(i * size + j)]) - expected;
        chi += off * off / expected;
      }
      INFO(size << " " << i << " " << chi);
      CHECK(chi < (size <= 3 ? 30 : 4 * static_cast<double>(size - 1)));
    }
  }
}

TEST_CASE("an epoch of ShuffledWindows has every window once", "[token_file]") {
  const TempDir dir;
  // Three files, of 10, 3 and 7 windows of 4 tokens; what is left over is in no window.
  write_tokens(dir.file("a.tokens"), counting(43));
  write_tokens(dir.file("b.tokens"), counting(13));
  write_tokens(dir.file("c.tokens"), counting(29));
  write_tokens(dir.file("d.tokens"), counting(4));
  write_tokens(dir.file("val.tokens"), counting(9));
  write_bytes(dir.file("notes.txt"), "other files are left alone");
  const TokenSplit split = open_tokens(dir.path.string());
  CHECK(count_tokens(split.train) == 89);
  CHECK(count_tokens(split.val) == 9);
  const TokenWindows windows(split.train, 4);
  REQUIRE(windows.count() == 20);
  const Windows eleventh = windows.batch(9, 2);  // the last of a file and the first of the next
  CHECK(eleventh.x == std::vector<int32_t>{10, 11, 12, 13, 0, 1, 2, 3});
  CHECK(eleventh.y == std::vector<int32_t>{11, 12, 13, 14, 1, 2, 3, 4});
  CHECK(contains(error_of([&] { windows.batch(19, 2); }), "in [0, 20), got 20"));

  ShuffledWindows shuffled(windows, 3);
  std::vector<std::vector<int32_t>> all;
  for (int i = 0; i < 20; ++i) {  // four epochs
    const Windows batch = shuffled.next(4);
    for (int64_t b = 0; b < 4; ++b) all.emplace_back(batch.x.begin() + b * 4, batch.x.begin() + (b + 1) * 4);
  }
  CHECK(shuffled.drawn == 80);
  std::vector<std::vector<int32_t>> expected;
  for (int64_t i = 0; i < 20; ++i) expected.push_back(windows.batch(i, 1).x);
  std::sort(expected.begin(), expected.end());
  std::set<std::vector<std::vector<int32_t>>> orders;
  for (int epoch = 0; epoch < 4; ++epoch) {
    std::vector<std::vector<int32_t>> seen(all.begin() + epoch * 20, all.begin() + (epoch + 1) * 20);
    orders.insert(seen);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == expected);
  }
  CHECK(orders.size() == 4);

  // From any number drawn on, the batches are the same, whatever their size.
  ShuffledWindows resumed(windows, 3);
  resumed.drawn = 33;
  const Windows rest = resumed.next(47);
  for (size_t i = 0; i < 47; ++i) {
    CHECK(std::equal(all[33 + i].begin(), all[33 + i].end(), rest.x.begin() + static_cast<int64_t>(i) * 4));
  }
  ShuffledWindows other(windows, 4);
  CHECK(other.next(20).x != ShuffledWindows(windows, 3).next(20).x);
  CHECK(contains(error_of([&] { ShuffledWindows(TokenWindows(split.val, 9), 1); }), "no window"));
}

TEST_CASE("the last tenth of token files validates as that of a text does", "[token_file]") {
  const TempDir dir;
  for (const int64_t size : {1, 9, 10, 11, 101, 259}) {
    const std::vector<int64_t> ids = counting(size);
    write_tokens(dir.file("one.tokens"), ids);
    const TextData text = split_text(std::vector<int32_t>(ids.begin(), ids.end()));
    const TokenSplit split = open_tokens(dir.file("one.tokens"));
    CHECK(count_tokens(split.train) == std::ssize(text.train));
    REQUIRE(count_tokens(split.val) == std::ssize(text.val));
    std::vector<int32_t> val(text.val.size());
    split.val[0].file->read(split.val[0].begin, val);
    CHECK(val == text.val);
    CHECK(count_bytes(split.val, TokenTexts(letters(26))) == std::ssize(val));
  }
  // Over the border of two files, and at most 2^20 tokens.
  std::filesystem::create_directory(dir.file("two"));
  write_tokens(dir.file("two/a.tokens"), counting(100));
  write_tokens(dir.file("two/b.tokens"), counting(5));
  const TokenSplit two = open_tokens(dir.file("two"));
  REQUIRE(two.val.size() == 2);
  CHECK(two.val[0].begin == 94);
  CHECK(two.train.size() == 1);
  write_tokens(dir.file("large.tokens"), counting(12000000));
  CHECK(count_tokens(open_tokens(dir.file("large.tokens")).val) == 1 << 20);
  // The end-of-text token is no text; the header states the bytes of a whole file.
  TokenFileHeader ended = header_of({1, 2, 0, 3, 0});
  ended.end_id = 0;
  ended.bytes = 1000;
  write_bytes(dir.file("ended.tokens"), with_ids(ended.to_bytes(), {1, 2, 0, 3, 0}));
  const auto file = std::make_shared<const TokenFile>(dir.file("ended.tokens"));
  CHECK(count_bytes({{file, 1, 5}}, TokenTexts(letters(26))) == 2);
  CHECK(count_bytes({{file, 0, 5}}, TokenTexts(letters(26))) == 1000);
}

TEST_CASE("a damaged token file is an error that names it", "[token_file]") {
  const TempDir dir;
  const std::string path = dir.file("x.tokens");
  const std::vector<int64_t> ids = counting(20);
  const std::string good = with_ids(header_of(ids).to_bytes(), ids);
  const auto opened = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of([&] { TokenFile file(path); });
  };
  const auto patched = [&](size_t offset, const std::string& bytes) {
    return opened(std::string(good).replace(offset, bytes.size(), bytes));
  };
  CHECK(opened(good).empty());
  CHECK(is_token_file(path));
  CHECK(contains(opened(""), "no token file"));
  CHECK(!is_token_file(path));
  CHECK(!is_token_file(dir.path.string()));
  CHECK(contains(opened("pgtokens"), "8 bytes, and its header has 128"));
  CHECK(contains(opened(good.substr(0, 127)), "the file is cut: 127 bytes"));
  CHECK(contains(opened(good.substr(0, good.size() - 1)), "the file is cut: 19 ids, and its header says 20"));
  CHECK(contains(opened(good + "x"), "1 bytes follow the 20 ids"));
  CHECK(contains(patched(0, "PGTOKENS"), "no token file"));
  CHECK(contains(patched(8, bytes_of<uint32_t>({1u << 24})), "big-endian"));
  CHECK(contains(patched(8, bytes_of<uint32_t>({2})), "version of this token file is 2; version 1 is read"));
  CHECK(contains(patched(12, bytes_of<uint32_t>({3})), "ids of 3 bytes"));
  CHECK(contains(patched(12, bytes_of<uint32_t>({0})), "ids of 0 bytes"));
  CHECK(contains(patched(12, bytes_of<uint32_t>({4})), "the file is cut: 10 ids"));
  CHECK(contains(patched(16, bytes_of<uint64_t>({0})), "size of the vocabulary must be from 1"));
  CHECK(contains(patched(16, bytes_of<uint64_t>({70000})), "ids of 2 bytes cannot have a vocabulary of 70000"));
  for (const uint64_t count : {uint64_t{1} << 63, UINT64_MAX, uint64_t{1} << 62}) {
    CHECK(contains(patched(24, bytes_of<uint64_t>({count})), "number of ids must be from 0"));
  }
  CHECK(contains(patched(24, bytes_of<uint64_t>({uint64_t{1} << 53})), "its header says 9007199254740992"));
  CHECK(contains(patched(24, bytes_of<uint64_t>({19})), "2 bytes follow the 19 ids"));
  CHECK(contains(patched(32, bytes_of<uint64_t>({UINT64_MAX})), "number of bytes of the text"));
  CHECK(contains(patched(40, bytes_of<uint64_t>({UINT64_MAX})), "number of texts"));
  CHECK(contains(patched(48, bytes_of<int64_t>({26})), "the id 26 that follows a text"));
  CHECK(contains(patched(48, bytes_of<int64_t>({-2})), "id that follows a text"));
  CHECK(contains(patched(70, "G"), "SHA-256 of the tokenizer is damaged"));
  for (const std::string& message : {opened("junk that is no token file"), patched(24, bytes_of<uint64_t>({21}))}) {
    CHECK(message.starts_with(path));
  }
}

TEST_CASE("a random header is read back or is an error", "[token_file]") {
  const std::vector<int64_t> ids = counting(20);
  const std::string good = with_ids(header_of(ids).to_bytes(), ids);
  Generator g(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int64_t i = g.integer(4); i >= 0; --i) {
      bytes[static_cast<size_t>(g.integer(TokenFileHeader::size))] = static_cast<char>(g.integer(256));
    }
    bytes.resize(static_cast<size_t>(g.integer(4) == 0 ? g.integer(200) : std::ssize(bytes)));
    try {
      const TokenFileHeader h = TokenFileHeader::from_bytes(bytes, bytes.size(), "x");
      ++accepted;
      REQUIRE(h.to_bytes() == bytes.substr(0, TokenFileHeader::size));
      REQUIRE(static_cast<size_t>(h.tokens * h.width) == bytes.size() - TokenFileHeader::size);
    } catch (const Error&) {
    }
  }
  CHECK((accepted > 100 && accepted < 19000));
}

TEST_CASE("ids of a token file are checked when they are read", "[token_file]") {
  const TempDir dir;
  const std::string path = dir.file("x.tokens");
  std::vector<int64_t> ids = counting(40000);
  ids[30001] = 26;
  write_tokens(path, ids);
  const TokenSplit split = open_tokens(path);
  const TokenWindows windows(split.train, 10);
  CHECK(windows.batch(2999, 1).x.size() == 10);
  CHECK(contains(error_of([&] { windows.batch(3000, 1); }), "token 30001 has the id 26, the vocabulary has 26"));
  // Wide ids, of which the largest are negative as int32_t.
  const std::vector<int64_t> wide = {1, 70000, 0xffffffff, 3};
  TokenFileHeader h = header_of(wide, 4);
  h.vocab_size = 70001;
  write_bytes(dir.file("wide.tokens"), with_ids(h.to_bytes(), wide, 4));
  const TokenFile file(dir.file("wide.tokens"));
  std::vector<int32_t> two(2);
  file.read(0, two);
  CHECK(two == std::vector<int32_t>{1, 70000});
  CHECK(contains(error_of([&] { file.read(1, two); }), "token 2 has the id 4294967295"));
  CHECK(contains(error_of([&] { file.read(3, two); }), "the ids [3, 5) were asked for, the file has 4"));
  CHECK(contains(error_of([&] { file.read(-1, two); }), "[-1, 1)"));
  // A file that has become shorter would end the process.
  std::filesystem::resize_file(path, 50000);
  CHECK(contains(error_of([&] { windows.batch(0, 1); }), "the file has become shorter, 50000 bytes"));
}

TEST_CASE("token files of another tokenizer are an error", "[token_file]") {
  const TempDir dir;
  write_tokens(dir.file("a.tokens"), counting(100));
  const TokenTexts same(letters(26)), fewer(letters(25));
  TokenSplit split = open_tokens(dir.path.string());
  check_tokenizer(split, same, "T");
  const std::string message = error_of([&] { check_tokenizer(split, fewer, "T"); });
  CHECK(contains(message, "a.tokens: the file was made with another tokenizer, of 26 tokens"));
  CHECK(contains(message, "than that of T, which has 25"));
  // A header with the right checksum and another size of the vocabulary.
  TokenFileHeader lying = header_of({1, 2, 3});
  lying.vocab_size = 27;
  write_bytes(dir.file("b.tokens"), with_ids(lying.to_bytes(), {1, 2, 3}));
  split = open_tokens(dir.path.string());
  CHECK(contains(error_of([&] { check_tokenizer(split, same, "T"); }), "b.tokens"));
  TokenFileHeader other = header_of({1, 2, 3});
  other.vocabulary = fewer.sha256;
  write_bytes(dir.file("b.tokens"), with_ids(other.to_bytes(), {1, 2, 3}));
  CHECK(contains(error_of([&] { open_tokens(dir.path.string()); }), "are encoded by different tokenizers"));
  // An id without a token is not a token of length 0.
  CHECK(TokenTexts(TokenList({"a", "b"}, false, -1)).sha256 != same.sha256);
  const TempDir empty;
  CHECK(contains(error_of([&] { open_tokens(empty.path.string()); }), "the folder has no token file (*.tokens)"));
  write_tokens(empty.file("val.tokens"), counting(100));
  CHECK(contains(error_of([&] { open_tokens(empty.path.string()); }),
                 "all token files of the folder are for validation"));
  CHECK(contains(error_of([&] { open_tokens(empty.file("none.tokens")); }), "No such file"));
}
