// Reading tokenizer files: every kind, and files that are damaged or not supported.
#include "tasks/bpe/pretokenizer.h"
#include "tests/catch.h"
#include "tests/tasks/bpe_cases.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::string error_of_json(const std::function<void(Json&)>& change) {
  Json json = tokenizer_json({{"a", "b"}});
  change(json);
  return error_of([&] { tokenizer_from_json(json.dump()); });
}

std::vector<std::string> pieces(const std::string& pre_tokenizer, const std::string& text) {
  std::vector<std::string> result;
  RegexScratch scratch;
  Pretokenizer(pre_tokenizer).split(text, scratch, [&](std::string_view piece) { result.emplace_back(piece); });
  return result;
}
using Strings = std::vector<std::string>;

std::string row(const std::string& name) {
  for (const SplitPattern& pattern : split_patterns()) {
    if (pattern.name == name) return pattern.pre_tokenizer;
  }
  return "";
}

}  // namespace

TEST_CASE("the patterns split as their models do", "[bpe]") {
  CHECK(pieces(row("gpt2"), "I'm  12345 x!\n\n") == Strings{"I", "'m", " ", " 12345", " x", "!", "\n\n"});
  CHECK(pieces(row("gpt2"), "I'M") == Strings{"I", "'", "M"});
  CHECK(pieces(row("llama3"), "I'M  12345 x!\n\ny") == Strings{"I", "'M", " ", " ", "123", "45", " x", "!\n\n", "y"});
  CHECK(pieces(row("qwen2"), "123(ab") == Strings{"1", "2", "3", "(ab"});
  CHECK(pieces(row("smollm"), "a 12 b") == Strings{"a", " ", "1", "2", " b"});
  CHECK(pieces(row("cl100k"), "a\n  ") == Strings{"a", "\n  "});
  CHECK(pieces(row("llama3"), "a\n  ") == Strings{"a", "\n", "  "});
  CHECK(pieces(row("o200k"), "aBc'sDE/\n") == Strings{"a", "Bc's", "DE", "/\n"});
  CHECK(pieces(row("default"), "a.b 1234") == Strings{"a", ".", "b", " ", "123", "4"});
  // White space is Unicode's: U+0085 and U+3000 are, U+180E, U+200B and U+001C are not.
  CHECK(pieces(row("gpt2"), "a\u0085b\u3000c") == Strings{"a", "\u0085", "b", "\u3000", "c"});
  CHECK(pieces(row("gpt2"), "a \u180e") == Strings{"a", " \u180e"});
  CHECK(pieces(row("gpt2"), "a \x1c") == Strings{"a", " \x1c"});
}

TEST_CASE("regular expressions have Oniguruma's meaning or are refused", "[bpe]") {
  const auto found = [](const std::string& pattern, const std::string& text) {
    RegexScratch scratch;
    const auto match = Regex(pattern).find(text, 0, scratch);
    return text.substr(match.begin, match.end - match.begin);
  };
  CHECK(found("[\\s\\d]+", "a\u3000\u0661b") == "\u3000\u0661");
  CHECK(found("\\w+", "-a_\u203f1-") == "a_\u203f1");
  CHECK(found("(?i:'s)", "'\u017f") == "'\u017f");
  CHECK(found("\\u00e9\\x41", "\u00e9A") == "\u00e9A");
  CHECK(found("\\[\\.\\]", "[.]") == "[.]");
  CHECK(found(".+", "ab\nc") == "ab");
  CHECK(found(regex_of_text("a.(b"), "axa.(b") == "a.(b");
  for (const std::string bad : {"^a",  "a$",    "a{1,2}+",      "[[:alpha:]]", "[a&&b]", "(?m:a)", "(?<n>a)", "(*UTF)a",
                                "\\R", "\\ba",  "[\\W]",        "\\pL",        "a{,2}",  "[]a]",   "(a",      "[a",
                                "a\\", "\\xzz", "\\p{Nothing}", "a*",          "\xff",   "(?R)a"}) {
    INFO(bad);
    CHECK(contains(error_of([&] { Regex regex(bad); }), "regex"));
  }
  // An expression that would go on for ever.
  RegexScratch scratch;
  const std::string as(100, 'a');
  CHECK(contains(error_of([&] { Regex("(?:a|aa)+[bc]").find(as, 0, scratch); }), "cannot be matched"));
}

TEST_CASE("a tokenizer.json saved after a padded call is read", "[bpe]") {
  CHECK(error_of_json([](Json& j) {
          j["truncation"] = {{"direction", "Right"}, {"max_length", 16}, {"strategy", "LongestFirst"}, {"stride", 0}};
          j["padding"] = {{"strategy", {{"Fixed", 16}}}, {"pad_id", 0}, {"pad_token", "<|endoftext|>"}};
        }).empty());
}

TEST_CASE("what a tokenizer.json has and we do not is named", "[bpe]") {
  CHECK(error_of_json([](Json&) {}).empty());
  const auto says = [](const std::string& part, const std::function<void(Json&)>& change) {
    const std::string error = error_of_json(change);
    INFO(error);
    CHECK(contains(error, part));
  };
  says("\"WordPiece\"", [](Json& j) { j["model"]["type"] = "WordPiece"; });
  says("dropout 0.1", [](Json& j) { j["model"]["dropout"] = 0.1; });
  says("byte_fallback true", [](Json& j) { j["model"]["byte_fallback"] = true; });
  says("continuing_subword_prefix", [](Json& j) { j["model"]["continuing_subword_prefix"] = "##"; });
  says("end_of_word_suffix", [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; });
  says("expected NFC, Sequence, got", [](Json& j) { j["normalizer"] = {{"type", "NFKC"}}; });
  says("Split, ByteLevel, Digits, Sequence, got", [](Json& j) { j["pre_tokenizer"] = {{"type", "Metaspace"}}; });
  // Falcon's: another pre-tokenizer in its place would give other ids in silence.
  says("got \"Punctuation\"", [](Json& j) {
    const Json level = j["pre_tokenizer"];
    j["pre_tokenizer"] = {{"type", "Sequence"},
                          {"pretokenizers",
                           {{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
                            level,
                            {{"type", "Digits"}, {"individual_digits", false}}}}};
  });
  says("byte-level", [](Json& j) { j["pre_tokenizer"] = {{"type", "Digits"}}; });
  says("expected a pre-tokenizer", [](Json& j) { j["pre_tokenizer"] = nullptr; });
  says("\"MergedWithNext\"", [](Json& j) {
    j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "MergedWithNext"}};
  });
  says("after a ByteLevel", [](Json& j) {
    const Json level = j["pre_tokenizer"];
    j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {level, level}}};
  });
  says("TemplateProcessing, Sequence, got", [](Json& j) { j["post_processor"] = {{"type", "BertProcessing"}}; });
  says("once", [](Json& j) {
    j["post_processor"] = {
        {"type", "TemplateProcessing"}, {"single", Json::array()}, {"special_tokens", Json::object()}};
  });
  says("adds the id 999", [](Json& j) {
    j["post_processor"] = {{"type", "TemplateProcessing"},
                           {"single", {{{"SpecialToken", {{"id", "x"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                           {"special_tokens", {{"x", {{"ids", {999}}}}}}};
  });
}

TEST_CASE("a damaged tokenizer.json is an error of one sentence", "[bpe]") {
  const auto says = [](const std::string& part, const std::function<void(Json&)>& change) {
    const std::string error = error_of_json(change);
    INFO(error);
    CHECK(contains(error, part));
  };
  says("needs the token 'zz'", [](Json& j) { j["model"]["merges"].push_back({"zz", "a"}); });
  says("needs the token 'ba'", [](Json& j) { j["model"]["merges"].push_back({"b", "a"}); });
  says("expected a merge", [](Json& j) { j["model"]["merges"].push_back(3); });
  says("a space between", [](Json& j) { j["model"]["merges"].push_back("a b c"); });
  says("same id 0", [](Json& j) { j["model"]["vocab"]["zz"] = 0; });
  says("4294967296", [](Json& j) { j["model"]["vocab"]["zz"] = int64_t{1} << 32; });
  says("-1", [](Json& j) { j["model"]["vocab"]["zz"] = -1; });
  says("2000000000", [](Json& j) { j["model"]["vocab"]["zz"] = 2000000000; });
  says("2000000000", [](Json& j) { j["added_tokens"].push_back(added_token(2000000000, "xx")); });
  says("1.5", [](Json& j) { j["model"]["vocab"]["zz"] = 1.5; });
  says("in the vocabulary it has 256", [](Json& j) { j["added_tokens"].push_back(added_token(300, "ab")); });
  says("has the id 0 of the token '!'", [](Json& j) { j["added_tokens"].push_back(added_token(0, "new")); });
  says("is empty", [](Json& j) { j["added_tokens"].push_back(added_token(300, "")); });
  says("the same id 300", [](Json& j) { j["added_tokens"] = {added_token(300, "xx"), added_token(300, "yy")}; });
  says("is there twice", [](Json& j) { j["added_tokens"] = {added_token(300, "xx"), added_token(301, "xx")}; });
  says("expected an added token", [](Json& j) { j["added_tokens"].push_back("x"); });
  says("\"vocab\"", [](Json& j) { j["model"].erase("vocab"); });
  says("\"merges\"", [](Json& j) { j["model"]["merges"] = 5; });
  says("\"model\"", [](Json& j) { j["model"] = 5; });

  const std::string good = tokenizer_json({{"a", "b"}}).dump();
  for (size_t size = 0; size < good.size(); size += 97) {
    CHECK(!error_of([&] { tokenizer_from_json(good.substr(0, size)); }).empty());
  }
  std::string bomb = "{\"model\":";
  for (int i = 0; i < 100000; ++i) bomb += "[";
  CHECK(contains(error_of([&] { tokenizer_from_json(bomb); }), "nests more than 64"));
  CHECK(contains(error_of([] { tokenizer_from_json("{\"type\":\"bpe\"}"); }), "known are"));
  CHECK(!is_tokenizer_json("{\"type\": {\"model\": 1}, \"x\": \"model\"}"));
  CHECK(is_tokenizer_json(" {\"a\\\"\": [\"model\"], \"model\" : 1}"));
}

TEST_CASE("vocab.json with merges.txt is read with LF and CRLF", "[bpe]") {
  const Json vocab = tokenizer_json({{"#", "#"}, {"a", "b"}})["model"]["vocab"];
  Json with_end = vocab;
  with_end["<|endoftext|>"] = 258;
  const std::string merges = "#version: 0.2\n# #\na b\n", dos = "#version: 0.2\r\n# #\r\na b\r\n";
  for (const std::string& text : {merges, dos}) {
    const BpeTokenizer t = bpe_from_vocab(with_end.dump(), text, "gpt2");
    CHECK(t.encode("ab##<|endoftext|>") == Ids{257, 256, 258});
    CHECK(t.end_id() == 258);
  }
  CHECK(bpe_from_vocab(vocab.dump(), merges, "gpt2").end_id() == -1);
  CHECK(contains(error_of([&] { bpe_from_vocab(vocab.dump(), "#version\na x\n", "gpt2"); }), "'ax'"));
  CHECK(contains(error_of([&] { bpe_from_vocab(vocab.dump(), "#version\nab\n", "gpt2"); }), "a space between"));
  CHECK(contains(error_of([&] { bpe_from_vocab("[]", merges, "gpt2"); }), "expected a JSON object"));
  CHECK(contains(error_of([&] { bpe_from_vocab(vocab.dump(), merges, "gpt3"); }), "llama3"));
}

TEST_CASE("a tiktoken file is read by the rank of what a merge makes", "[bpe]") {
  // a 0, b 1, c 2, bc 3, abc 4: a and bc join though "ab" is no token.
  const std::string text = "YQ== 0\nYg== 1\nYw== 2\nYmM= 3\r\nYWJj 4\n";
  const BpeTokenizer t = bpe_from_tiktoken(text, "gpt2", {{"<end>", 9}});
  CHECK(t.encode("abcbca") == Ids{4, 3, 0});
  CHECK(t.encode("ab<end>") == Ids{0, 1, 9});
  CHECK(t.vocab_size() == 10);
  CHECK(contains(error_of([&] { t.decode(Ids{7}); }), "no token has the id 7"));
  for (const std::string bad : {"YQ==", "YQ== x", "YQ== 0 1", "!!! 0", "YQ== -1", "YQ== 99999999999", " 0"}) {
    INFO(bad);
    CHECK(contains(error_of([&] { bpe_from_tiktoken(bad, "gpt2"); }), ".tiktoken"));
  }
  CHECK(contains(error_of([&] { bpe_from_tiktoken("YQ== 2000000000", "gpt2"); }), "2000000000"));
  CHECK(contains(error_of([&] { bpe_from_tiktoken("YQ== 0\nYQ== 1", "gpt2"); }), "twice"));
  CHECK(contains(error_of([&] { bpe_from_tiktoken(text, ""); }), "cl100k"));
}

TEST_CASE("the vocabulary of a GGUF becomes a tokenizer", "[bpe]") {
  const BpeTokenizer json = bpe_from_json(tokenizer_json({{"a", "b"}}).dump());
  GgufVocabulary g;
  g.tokens = json.data().tokens;
  g.tokens.insert(g.tokens.end(), {"<s>", "</s>", "  ", "unused"});
  g.types = std::vector<int32_t>(257, 1);
  g.types.insert(g.types.end(), {3, 3, 4, 5});
  g.merges = {"a b"};
  g.pre = "smollm";
  g.bos = 257;
  g.eos = 258;
  const BpeTokenizer t = bpe_from_gguf(g);
  CHECK(t.encode("ab12</s>  ") == Ids{256, 16, 17, 258, 259});
  CHECK(t.end_id() == 258);
  CHECK(t.vocab_size() == 260);
  g.add_bos = true;
  const BpeTokenizer first = bpe_from_gguf(g);
  CHECK(first.encode("ab") == Ids{257, 256});
  // As a tokenizer.json, the added tokens keep their ids and the last one ends a text.
  const BpeTokenizer again = bpe_from_json(first.to_json());
  CHECK(again.encode("ab  </s>") == Ids{257, 256, 259, 258});
  CHECK(again.end_id() == 258);
  g.pre = "gpt-5";
  CHECK(contains(error_of([&] { bpe_from_gguf(g); }), "gpt-2, llama-bpe, qwen2, smollm, default"));
  g.pre = "qwen2";
  g.types.pop_back();
  CHECK(contains(error_of([&] { bpe_from_gguf(g); }), "261 tokens and 260 token types"));
  g.types.clear();
  g.bos = 1000;
  CHECK(contains(error_of([&] { bpe_from_gguf(g); }), "1000"));
}

TEST_CASE("a path leads to a tokenizer or to the list of what can be read", "[bpe]") {
  const TempDir dir;
  const Json json = tokenizer_json({{"a", "b"}});
  const std::string path = dir.path.string();
  CHECK(contains(error_of([&] { load_tokenizer(path); }), "the folder has no tokenizer"));
  write_bytes(dir.file("x.tiktoken"), "YQ== 0\n");
  CHECK(load_tokenizer(path, "gpt2")->vocab_size() == 1);
  CHECK(contains(error_of([&] { load_tokenizer(path); }), "x.tiktoken"));
  write_bytes(dir.file("vocab.json"), json["model"]["vocab"].dump());
  CHECK(contains(error_of([&] { load_tokenizer(path); }), "merges.txt"));
  write_bytes(dir.file("merges.txt"), "#version: 0.2\na b\n");
  CHECK(load_tokenizer(path)->encode("ab") == Ids{256});
  CHECK(load_tokenizer(dir.file("merges.txt"))->encode("ab") == Ids{256});
  write_bytes(dir.file("tokenizer.json"), json.dump());
  CHECK(load_tokenizer(path)->encode("ab") == Ids{256});
  write_bytes(dir.file("char.json"), CharTokenizer("abc").to_json());
  CHECK(load_tokenizer(dir.file("char.json"))->encode("ab") == Ids{0, 1});
  write_bytes(dir.file("other.bin"), std::string("\0\1\2", 3));
  CHECK(contains(error_of([&] { load_tokenizer(dir.file("other.bin")); }), "tokenizer.json, a *.tiktoken"));
  write_bytes(dir.file("empty.json"), "");
  CHECK(contains(error_of([&] { load_tokenizer(dir.file("empty.json")); }), "this is no tokenizer"));
  CHECK(contains(error_of([&] { load_tokenizer(dir.file("none")); }), "no such file"));
}
