// Byte-level BPE tokenizers: added tokens, bytes that are no text, streams, and threads.
#include <thread>

#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/data/utf8.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/tasks/bpe_cases.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Ids 256 and 257 are "ab" and "abc".
BpeTokenizer with_added(const std::vector<Json>& added) {
  auto json = tokenizer_json({{"a", "b"}, {"ab", "c"}});
  json["added_tokens"] = added;
  return bpe_from_json(json.dump());
}

std::string random_bytes(Generator& g, int64_t size) {
  std::string bytes;
  while (std::ssize(bytes) < size) {
    if (g.integer(2) == 0) {
      bytes.push_back(static_cast<char>(g.integer(256)));
    } else {
      append_utf8(bytes, static_cast<char32_t>(32 + g.integer(0x3000)));
    }
  }
  return bytes;
}

constexpr EncodeOptions kPlain = {.surround = false};

}  // namespace

TEST_CASE("the byte alphabet is GPT-2's", "[bpe]") {
  CHECK(byte_symbol(' ') == "Ġ");
  CHECK(byte_symbol('\n') == "Ċ");
  CHECK(byte_symbol('!') == "!");
  CHECK(byte_symbol(0) == "Ā");
  CHECK(byte_symbol(0xad) == "Ń");
  CHECK(bytes_in_symbol_order().size() == 256);
  CHECK(bytes_in_symbol_order()[220] == ' ');
  CHECK(bytes_in_symbol_order()[198] == '\n');
  for (int b = 0; b < 256; ++b) {
    const std::string byte(1, static_cast<char>(b));
    CHECK(bytes_of_symbols(symbols_of(byte)) == byte);
  }
  CHECK(!bytes_of_symbols("a b"));  // a space is not in the alphabet
  CHECK(!bytes_of_symbols("\xff"));
}

TEST_CASE("BPE encodes pieces and joins bytes", "[bpe]") {
  const BpeTokenizer t = with_added({});
  CHECK(t.encode("") == Ids{});
  CHECK(t.encode("abc") == Ids{257});
  CHECK(t.encode("abcab") == Ids{257, 256});
  CHECK(t.encode("ab c") == Ids{256, 220, 66});
  CHECK(t.decode(t.encode("ab c")) == "ab c");
  CHECK(t.vocab_size() == 258);
  CHECK(t.end_id() == -1);
  CHECK(t.token_id("ab") == 256);
  CHECK(!t.token_id("abcd"));
  CHECK(contains(error_of([&] { t.decode(Ids{258}); }), "[0, 258), got 258"));
  CHECK(contains(error_of([&] { t.decode(Ids{-1}); }), "got -1"));
  // Zero bytes are text.
  CHECK(t.decode_bytes(t.encode(std::string_view("a\0b", 3))) == std::string("a\0b", 3));
}

TEST_CASE("added tokens are found before anything else and the longest wins", "[bpe]") {
  const BpeTokenizer t =
      with_added({added_token(258, "<a>", {"special"}), added_token(259, "<a>>", {"special"}),
                  added_token(260, "zz", {"single_word"}), added_token(261, "<s>", {"lstrip", "rstrip"}),
                  added_token(262, "<|endoftext|>", {"special"})});
  CHECK(t.encode("<a>") == Ids{258});
  CHECK(t.encode("<a>>") == Ids{259});
  CHECK(t.encode("<a><a>>") == Ids{258, 259});
  CHECK(t.encode("a<a>a") == Ids{64, 258, 64});
  // A single word: not inside or beside other word characters.
  CHECK(t.encode("azz") == Ids{64, 89, 89});
  CHECK(t.encode("a zz") == Ids{64, 220, 260});
  CHECK(t.encode("zz_") == Ids{89, 89, 62});
  CHECK(t.encode("zz.") == Ids{260, 13});
  CHECK(t.encode("ézz").back() == 89);  // é is a letter
  // White space beside it belongs to the token, that before it only as far as no other token has it.
  CHECK(t.encode("a \n<s>  a") == Ids{64, 261, 64});
  CHECK(t.encode("<s> <s>") == Ids{261, 261});
  CHECK(t.encode(" <s> ") == Ids{261});
  CHECK(t.decode(t.encode("<a>b<s>")) == "<a>b<s>");
  CHECK(t.end_id() == 262);
  // Special tokens as text; the other added tokens stay tokens.
  const EncodeOptions as_text = {.special_tokens = false};
  CHECK(t.encode("<a>", as_text) == Ids{27, 64, 29});
  CHECK(t.encode("a<s>", as_text) == Ids{64, 261});
}

TEST_CASE("transformers warned of the mark of the token that ends a text", "[bpe]") {
  auto json = tokenizer_json({{"a", "b"}, {"ab", "c"}});
  json["added_tokens"] = {added_token(258, "<|endoftext|>", {"special"}), added_token(259, "<end>", {"special"})};
  CHECK(bpe_from_json(json.dump()).end_id() == 258);
  auto old = json;
  old["added_tokens"][1]["ends_text"] = true;
  json["model"]["ends_text"] = 259;
  for (const Json& form : {old, json}) {
    const BpeTokenizer t = bpe_from_json(form.dump());
    CHECK(t.end_id() == 259);
    const Json written = Json::parse(json_of(t));
    CHECK(bpe_from_json(written.dump()).end_id() == 259);
    for (const Json& token : written["added_tokens"]) CHECK(token.size() == 7);  // those of tokenizers
  }
  json["model"]["ends_text"] = "<end>";  // no id: the usual one
  CHECK(bpe_from_json(json.dump()).end_id() == 258);
}

TEST_CASE("added tokens were decoded by the table of bytes", "[bpe]") {
  // é and ☃ are symbols of bytes, or none, in the alphabet of byte-level tokenizers; an added token is plain text.
  const BpeTokenizer t = with_added({added_token(258, "é☃"), added_token(259, "☃é", {"special"})});
  const std::string text = "aé☃b☃é é";
  const Ids ids = t.encode(text);
  CHECK(std::count(ids.begin(), ids.end(), 258) == 1);
  CHECK(std::count(ids.begin(), ids.end(), 259) == 1);
  CHECK(t.decode(ids) == text);
  CHECK(t.decode_bytes(ids) == text);
  StreamDecoder stream(t);
  std::string shown;
  for (const int32_t id : ids) shown += stream.push(id);
  CHECK(shown + stream.flush() == text);
}

TEST_CASE("bytes that are no text are a piece of their own and come back", "[bpe]") {
  const BpeTokenizer t = with_added({});
  // 0xff and 0xfe stand between two texts that are split alone.
  CHECK(t.encode("ab\xff\xfe"
                 "ab") == Ids{256, 187, 186, 256});
  // The beginning of a character at the end of the text.
  CHECK(t.decode_bytes(t.encode("ab\xe2\x82")) == "ab\xe2\x82");
  CHECK(t.decode(t.encode("ab\xe2\x82")) == "ab\xef\xbf\xbd");
  auto json = tokenizer_json({{"a", "b"}});
  json["added_tokens"] = Json::array({added_token(257, "<a>")});
  const BpeTokenizer added = bpe_from_json(json.dump());
  Generator g(9);
  for (int round = 0; round < 200; ++round) {
    const std::string bytes = random_bytes(g, g.integer(300));
    CHECK(added.decode_bytes(added.encode(bytes, kPlain)) == bytes);
  }
}

TEST_CASE("replacement characters are those of Unicode's recommendation", "[bpe]") {
  // The Unicode standard, table 3-8 and 3-11: truncated, overlong and surrogate sequences.
  const std::string r = "\xef\xbf\xbd";
  CHECK(replace_invalid_utf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41") == r + r + r + r + r + r + r + r + "A");
  CHECK(replace_invalid_utf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41") == r + r + r + r + "A");
  CHECK(replace_invalid_utf8("\xed\xa0\x80") == r + r + r);
  CHECK(replace_invalid_utf8("aé€😀") == "aé€😀");
  CHECK(valid_prefix("12345678é\x80") == 10);
}

TEST_CASE("a stream has whole characters and the same text as decode", "[bpe]") {
  const BpeTokenizer t = with_added({});
  StreamDecoder stream(t);
  std::string shown;
  for (const int32_t id : t.encode("é")) shown = stream.push(id);
  CHECK(shown == "é");
  CHECK(stream.push(t.encode("\xe2")[0]).empty());
  CHECK(stream.push(t.encode("a")[0]) ==
        "\xef\xbf\xbd"
        "a");
  CHECK(stream.flush().empty());
  CHECK(stream.push(t.encode("\xf0")[0]).empty());
  CHECK(stream.flush() == "\xef\xbf\xbd");
  Generator g(10);
  for (int round = 0; round < 200; ++round) {
    const Ids ids = t.encode(random_bytes(g, 60), kPlain);
    StreamDecoder decoder(t);
    std::string text;
    for (const int32_t id : ids) {
      const std::string part = decoder.push(id);
      CHECK(valid_prefix(part) == part.size());
      text += part;
    }
    CHECK(text + decoder.flush() == t.decode(ids));
  }
  // Other tokenizers: a space between words depends on the word before.
  const TokenList words({"one", "two", "."}, /*words=*/true, -1);
  StreamDecoder list(words);
  std::string sentence;
  for (const int32_t id : {0, 1, 2}) sentence += list.push(id);
  CHECK(sentence + list.flush() == "one two.");
}

TEST_CASE("a batch and several threads give the ids of one thread", "[bpe]") {
  const BpeTokenizer t = with_added({added_token(258, "<a>")});
  Generator g(11);
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back(random_bytes(g, g.integer(100)) + "<a> abc");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(t.encode(text));
  CHECK(t.encode_batch(views) == expected);
  std::vector<std::vector<Ids>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      const BpeTokenizer copy = t;
      for (const std::string& text : texts) result.push_back(copy.encode(text));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("the ids of a long letter and of long white space are found", "[bpe]") {
  const BpeTokenizer t = with_added({});
  CHECK(t.encode(std::string(100000, 'a')) == Ids(100000, 64));
  std::string blanks(100000, ' ');
  blanks.push_back('a');
  CHECK(t.encode(blanks).size() == 100001);
}

TEST_CASE("a vocabulary without a byte names it when it is needed", "[bpe]") {
  auto json = tokenizer_json();
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}};
  const BpeTokenizer t = bpe_from_json(json.dump());
  CHECK(t.encode("ab") == Ids{0, 1});
  CHECK(contains(error_of([&] { t.encode("abc"); }), "no token for the byte 0x63"));
}
