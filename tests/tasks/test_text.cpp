// Errors, suggestions, text excerpts, depth limit of JSON.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;

TEST_CASE("check throws the formatted message only when the condition is false", "[error]") {
  check(true, "never {}", 1);
  std::string message;
  try {
    check(2 + 2 == 5, "add: expected {}, got {}", 5, 2 + 2);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message == "add: expected 5, got 4");
}

TEST_CASE("UTF-8 is decoded strictly", "[text]") {
  CHECK(decode_utf8("a\u00e9\u20ac\U0001f600") == U"a\u00e9\u20ac\U0001f600");
  CHECK(decode_utf8(std::string("\0x", 2)).size() == 2);
  std::string back;
  for (char32_t c : U"a\u00e9\u20ac\U0001f600") {
    if (c != 0) append_utf8(back, c);
  }
  CHECK(back == "a\u00e9\u20ac\U0001f600");
  // Invalid by Unicode 15, table 3-7: overlong, surrogate, too large, stray continuation, truncated sequences.
  for (const char* bad :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3("}) {
    const std::string text = std::string("ok") + bad;
    CHECK(contains(error_of([&] { decode_utf8(text); }), "offset 2"));
  }
}

TEST_CASE("characters are encoded to ids and decoded back", "[text]") {
  const CharTokenizer t("hello, world\n");
  CHECK(t.vocabulary() == "\n ,dehlorw");
  CHECK(t.vocab_size() == 10);
  CHECK(t.encode("he\n") == std::vector<int32_t>{5, 4, 0});
  CHECK(t.decode(t.encode("hello, world\n")) == "hello, world\n");
  CHECK(t.encode("").empty());

  const CharTokenizer unicode("na\u00efve \u20ac");
  CHECK(unicode.vocab_size() == 7);
  CHECK(unicode.decode(unicode.encode("\u20ac\u00ef")) == "\u20ac\u00ef");
}

TEST_CASE("the tokenizer is restored from its JSON", "[text]") {
  const CharTokenizer t("\"\\\n\t\u00e9\U0001f600 \x01z");
  const CharTokenizer back = CharTokenizer::from_json(t.to_json());
  CHECK(back.vocabulary() == t.vocabulary());
  CHECK(back.encode("z\u00e9\n") == t.encode("z\u00e9\n"));
  for (const char* bad : {"", "{", "[]", "{}", "{\"type\":\"bpe\",\"characters\":\"a\"}", "{\"type\":\"char\"}",
                          "{\"type\":\"char\",\"characters\":3}", "{\"type\":\"char\",\"characters\":\"\"}"}) {
    CHECK(contains(error_of([&] { CharTokenizer::from_json(bad); }), "CharTokenizer"));
  }
}

TEST_CASE("the tokenizer's errors name the character and its position", "[text]") {
  const CharTokenizer t("abc\u00e9");
  const std::string unknown = error_of([&] { t.encode("ab\u00e9X"); });
  CHECK(contains(unknown, "'X'"));
  CHECK(contains(unknown, "byte 4"));
  CHECK(contains(error_of([&] { t.encode("a\n"); }), "'\\n'"));
  CHECK(contains(error_of([&] { t.encode("a\u20ac"); }), "U+20AC"));
  CHECK(contains(error_of([&] { t.decode(std::vector<int32_t>{0, 4}); }), "got 4"));
  CHECK(contains(error_of([&] { t.decode(std::vector<int32_t>{-1}); }), "got -1"));
  CHECK(contains(error_of([&] { CharTokenizer(""); }), "empty"));
}

TEST_CASE("a byte order mark and CR before LF are removed", "[text]") {
  const auto plain = [](const std::string& text, const std::string& want_note) {
    std::string note;
    const std::string result = unix_text(text, "t", note);
    CHECK(note == want_note);
    return result;
  };
  CHECK(plain("a\nb\rc\r", "") == "a\nb\rc\r");  // a CR without LF stays
  CHECK(plain("a\r\n\r\nb\r\r\n", "t: 3 line ends of Windows (CRLF) are read as LF.") == "a\n\nb\r\n");
  CHECK(plain("\xEF\xBB\xBF", "t: the byte order mark is left out.") == "");
  CHECK(plain("\xEF\xBB\xBFx\r\n",
              "t: the byte order mark is left out, and 1 line ends of Windows (CRLF) are read as LF.") == "x\n");
  CHECK(plain("x\xEF\xBB\xBF", "") == "x\xEF\xBB\xBF");  // not at the start, so it is an ordinary character
}

TEST_CASE("tiny Shakespeare has 65 characters and nanoGPT's split", "[text][data]") {
  const char* folder = std::getenv("POLICYGRAD_DATA");
  const std::string path = std::string(folder ? folder : "data") + "/tinyshakespeare.txt";
  if (!std::filesystem::exists(path)) SKIP_TEST("needs tinyshakespeare.txt: run ./pg fetch, or set POLICYGRAD_DATA");
  const std::string text = read_file(path);
  const CharTokenizer t(text);
  CHECK(t.vocab_size() == 65);
  CHECK(t.vocabulary() == "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  // nanoGPT's prepare.py prints these sizes.
  const TextData data = split_text(t.encode(text));
  CHECK(data.train.size() == 1003854);
  CHECK(data.val.size() == 111540);
}

TEST_CASE("random batches are windows with their successors and resume from the generator's state", "[text]") {
  std::vector<int32_t> tokens(50);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i);
  Generator g(7);
  random_batch(tokens, 3, 8, g);
  const Generator saved = g;
  const Windows batch = random_batch(tokens, 4, 8, g);
  REQUIRE(batch.x.size() == 32);
  for (size_t i = 0; i < 32; ++i) {
    CHECK(batch.y[i] == batch.x[i] + 1);
    if (i % 8) CHECK(batch.x[i] == batch.x[i - 1] + 1);
  }
  Generator resumed = saved;
  CHECK(random_batch(tokens, 4, 8, resumed).x == batch.x);

  std::vector<int> seen(50);
  for (int i = 0; i < 2000; ++i) ++seen[static_cast<size_t>(random_batch(tokens, 1, 8, g).x[0])];
  CHECK(seen[0] > 0);
  CHECK(seen[41] > 0);  // the last start: 41 .. 48, and the target of the last token is 49
  CHECK(seen[42] == 0);

  CHECK(random_batch(std::span(tokens).first(9), 1, 8, g).y.back() == 8);
  CHECK(contains(error_of([&] { random_batch(std::span(tokens).first(8), 1, 8, g); }), "at least 9"));
}

TEST_CASE("windows cover the text once", "[text]") {
  std::vector<int32_t> tokens(50);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i);
  CHECK(window_count(tokens, 7) == 7);
  CHECK(window_count(tokens, 50) == 0);
  CHECK(window_count({}, 7) == 0);
  const Windows all = window_batch(tokens, 0, 7, 7);
  for (size_t i = 0; i < 49; ++i) {
    CHECK(all.x[i] == tokens[i]);
    CHECK(all.y[i] == tokens[i + 1]);
  }
  CHECK(window_batch(tokens, 6, 1, 7).x[0] == 42);
  CHECK(contains(error_of([&] { window_batch(tokens, 6, 2, 7); }), "has 7"));
}

TEST_CASE("a missing file is named", "[text]") {
  CHECK(contains(error_of([] { read_file("no/such/file.txt"); }), "no/such/file.txt: No such file"));
  CHECK(contains(error_of([] { read_file("."); }), "folder"));
}

TEST_CASE("checksum: the test vectors of FNV-1a") {
  // Fowler, Noll, Vo: the 64-bit values of the authors' list.
  CHECK(checksum("") == 0xcbf29ce484222325);
  CHECK(checksum("a") == 0xaf63dc4c8601ec8c);
  CHECK(checksum("foobar") == 0x85944171f73967e8);
  CHECK(checksum("\xff") != checksum("\x7f"));
}
