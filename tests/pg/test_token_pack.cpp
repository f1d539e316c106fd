// Packing texts into a token file: the ids of the whole text, whatever the parts.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tasks/bpe/bpe_train.h"
#include "tasks/data/fetch.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/model_files.h"
#include "tests/tasks/bpe_cases.h"
#include "tools/pg/train/token_pack.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::tools;

namespace {

constexpr EncodeOptions kPlain = {.surround = false};
constexpr const char* kEnd = "<|endoftext|>";

BpeTokenizer trained(const std::string& pattern = "gpt2", int64_t vocab_size = 500) {
  const std::string text = generate_stories().substr(0, 50000);
  return train_bpe(std::vector<std::string_view>{text},
                   {.vocab_size = vocab_size, .special = {kEnd}, .pattern = pattern});
}

Ids ids_in(const std::string& path) {
  const TokenFile file(path);
  Ids ids(static_cast<size_t>(file.header().tokens));
  file.read(0, ids);
  return ids;
}

std::string unix_of(const std::string& text) {
  std::string note;
  return unix_text(text, "text", note);
}

}  // namespace

TEST_CASE("a packed text has the ids of the whole text", "[token_file]") {
  const TempDir dir;
  const std::string out = dir.file("a.tokens"), in = dir.file("a.txt");
  std::string lines, feeds;
  for (int i = 0; i < 3000; ++i) {
    lines += "The fox\u0301 was 12345 years old.\n\nIt said: \u0301yes\n" +
             std::string(static_cast<size_t>(i % 70), ' ') + "no\r\nb\r\n\r\n é";
    feeds += "a line,\r\nanother one \r\n12 more\r\n" + std::string(i % 3 == 0 ? "<|endoftext|>\n" : "");
  }
  std::string cut = generate_stories().substr(0, 20000) + "\xe2\x82";  // a character that the end cuts
  cut[5000] = '\xff';
  const std::vector<std::string> texts = {"a",
                                          "\n",
                                          " \n \n",
                                          lines,
                                          feeds,
                                          "\xef\xbb\xbfwith a mark\nand more",
                                          cut,
                                          std::string(200000, ' '),
                                          std::string(200000, '\n'),
                                          std::string(100000, 'x') + "\n" + std::string(100000, '7'),
                                          generate_stories()};
  for (const char* pattern : {"gpt2", "qwen2", "cl100k"}) {
    const BpeTokenizer tokenizer = trained(pattern);
    for (const std::string& text : texts) {
      INFO(pattern << " " << text.substr(0, 40));
      const std::string plain = unix_of(text);
      Ids expected = tokenizer.encode(plain, kPlain);
      const int64_t bytes = std::ssize(tokenizer.decode_bytes(expected)),
                    ends = std::count(expected.begin(), expected.end(), tokenizer.end_id());
      write_bytes(in, text);
      for (const size_t part : {size_t{1}, size_t{100}, size_t{1} << 20}) {
        const PackResult packed = pack_tokens(out, tokenizer, {.paths = {in}, .end_texts = false, .part_bytes = part});
        REQUIRE((ids_in(out) == expected));
        CHECK(packed.header.bytes == bytes);
        CHECK(packed.header.texts == 1);
        CHECK(packed.notes.size() == (plain == text ? 0 : 1));
        pack_tokens(out, tokenizer, {.paths = {in}, .part_bytes = part});
        Ids ended = ids_in(out);
        REQUIRE(!ended.empty());
        CHECK(ended.back() == tokenizer.end_id());
        ended.pop_back();
        CHECK((ended == expected));
        CHECK(TokenFile(out).header().bytes == bytes - ends * std::ssize(std::string(kEnd)));
      }
    }
  }
}

TEST_CASE("tiny Shakespeare and a line of 10 MB are packed", "[token_file]") {
  const TempDir dir;
  const BpeTokenizer tokenizer = trained();
  const std::string out = dir.file("a.tokens"), in = dir.file("a.txt");
  std::string line;
  Generator g(1);
  while (line.size() < 10000000) line += fmt::format("{} word{} ", g.integer(1000), g.integer(5000));
  std::vector<std::string> texts = {line + "\nshort\nlines\n"};
  if (const std::string path = find_data(data_file("tinyshakespeare.txt")); !path.empty()) {
    texts.push_back(read_file(path));
  }
  for (const std::string& text : texts) {
    write_bytes(in, text);
    int64_t last = 0, calls = 0;
    PackOptions options = {.paths = {in}, .end_texts = false};
    options.progress = [&](int64_t done, int64_t all, int64_t tokens) {
      CHECK((done > last && done <= all && tokens > 0));
      last = done;
      ++calls;
    };
    pack_tokens(out, tokenizer, options);
    CHECK((ids_in(out) == tokenizer.encode(text, kPlain)));
    CHECK(last == std::ssize(text));
    CHECK(calls > 0);
  }
}

TEST_CASE("texts of a file and of several files end with the end-of-text token", "[token_file]") {
  const TempDir dir;
  const BpeTokenizer tokenizer = trained();
  const std::string out = dir.file("a.tokens"), a = dir.file("a.txt"), b = dir.file("b.txt");
  write_bytes(a, "one\r\n\r\ntwo\n\n three");
  write_bytes(b, "four");
  const auto joined = [&](const std::vector<std::string>& texts) {
    Ids ids;
    for (const std::string& text : texts) {
      const Ids more = tokenizer.encode(text, kPlain);
      ids.insert(ids.end(), more.begin(), more.end());
      ids.push_back(tokenizer.end_id());
    }
    return ids;
  };
  PackResult packed = pack_tokens(out, tokenizer, {.paths = {a, b}, .separator = "\n"});
  CHECK(ids_in(out) == joined({"one", "two", " three", "four"}));
  CHECK(packed.header.texts == 4);
  CHECK(packed.header.bytes == 16);
  pack_tokens(out, tokenizer, {.paths = {a, b}});
  CHECK(ids_in(out) == joined({"one\n\ntwo\n\n three", "four"}));
  write_bytes(a, std::string("x\ny\0\0z\0", 7));
  pack_tokens(out, tokenizer, {.paths = {a}, .separator = std::string(1, '\0')});
  CHECK(ids_in(out) == joined({"x\ny", "z"}));
  // Without such a token nothing is put between texts.
  const BpeTokenizer none = bpe_from_json(tokenizer_json().dump());
  write_bytes(a, "ab");
  packed = pack_tokens(out, none, {.paths = {a, a}});
  CHECK(ids_in(out) == none.encode("abab"));
  CHECK(packed.header.end_id == -1);
  // Special tokens in a text are tokens, unless they are to be text.
  write_bytes(a, std::string("a") + kEnd);
  pack_tokens(out, tokenizer, {.paths = {a}, .end_texts = false});
  CHECK(ids_in(out).size() == 2);
  pack_tokens(out, tokenizer, {.paths = {a}, .end_texts = false, .special_tokens = false});
  CHECK(ids_in(out) == tokenizer.encode(std::string("a") + kEnd, {.surround = false, .special_tokens = false}));
}

TEST_CASE("no token file is written from nothing", "[token_file]") {
  const TempDir dir;
  const BpeTokenizer tokenizer = trained();
  const std::string out = dir.file("a.tokens"), in = dir.file("a.txt");
  for (const char* nothing : {"", "\xef\xbb\xbf"}) {
    write_bytes(in, nothing);
    CHECK(contains(error_of([&] { pack_tokens(out, tokenizer, {.paths = {in}}); }), "the files are empty"));
  }
  write_bytes(in, "\n\r\n\n");
  CHECK(contains(error_of([&] { pack_tokens(out, tokenizer, {.paths = {in}, .separator = "\n"}); }), "are empty"));
  CHECK(contains(error_of([&] { pack_tokens(out, tokenizer, {.paths = {dir.path.string()}}); }), "it is a folder"));
  CHECK(contains(error_of([&] { pack_tokens(out, tokenizer, {.paths = {dir.file("none")}}); }), "No such file"));
  PackOptions stopped = {.paths = {in}};
  stopped.progress = [](int64_t, int64_t, int64_t) { fail("stopped"); };
  CHECK(error_of([&] { pack_tokens(out, tokenizer, stopped); }) == "stopped");
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path), {}) == 1);
}

TEST_CASE("a vocabulary of more than 65536 tokens has ids of four bytes", "[token_file]") {
  const TempDir dir;
  std::vector<std::string> tokens;
  for (int i = 0; i < 65536; ++i) tokens.push_back(fmt::format("{:05}", i));
  const TokenTexts narrow(TokenList(tokens, false, 65535));
  for (int i = 65536; i < 70000; ++i) tokens.push_back(fmt::format("{:05}", i));
  const TokenTexts wide(TokenList(tokens, false, 69999));
  struct Case {
    const TokenTexts* texts;
    int32_t end;
    int64_t width;
  };
  for (const Case& c : {Case{&narrow, 65535, 2}, Case{&wide, 69999, 4}}) {
    const int32_t end = c.end;
    TokenFileWriter writer(dir.file("a.tokens"), *c.texts, end);
    writer.add(Ids{0, end, 1});
    writer.end_text();
    CHECK(contains(error_of([&] { writer.add(Ids{end + 1}); }), fmt::format("got {}", end + 1)));
    CHECK(contains(error_of([&] { writer.add(Ids{-1}); }), "got -1"));
    writer.commit();
    CHECK(ids_in(dir.file("a.tokens")) == Ids{0, end, 1, end});
    CHECK(TokenFile(dir.file("a.tokens")).header().width == c.width);
    CHECK(TokenFile(dir.file("a.tokens")).header().bytes == 10);
  }
  CHECK(contains(error_of([&] { TokenFileWriter(dir.file("b.tokens"), narrow, 65536); }), "is not in the vocabulary"));
}

TEST_CASE("two that pack into one file leave a whole one", "[token_file]") {
  const TempDir dir;
  const BpeTokenizer tokenizer = trained();
  const std::string out = dir.file("a.tokens");
  const std::vector<std::string> texts = {generate_stories().substr(0, 200000), "short"};
  for (size_t i = 0; i < 2; ++i) write_bytes(dir.file(fmt::format("{}.txt", i)), texts[i]);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        pack_tokens(out, tokenizer, {.paths = {dir.file(fmt::format("{}.txt", i))}, .end_texts = false});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Ids ids = ids_in(out);
  CHECK((ids == tokenizer.encode(texts[0], kPlain) || ids == tokenizer.encode(texts[1], kPlain)));
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path), {}) == 3);
}
