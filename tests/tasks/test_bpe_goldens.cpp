// The ids of Hugging Face's tokenizers and of tiktoken, from tests/goldens/tokenizers (docs/GOLDENS.md).
#include <cstdlib>

#include "tasks/bpe/bpe_train.h"
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tests/catch.h"
#include "tests/tasks/bpe_cases.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Json& golden() {
  static const Json json = Json::parse(read_file("tests/goldens/tokenizers/cases.json"));
  return json;
}

// The tokenizer.json of a kind.
Json whole(const Json& kind) {
  Json json = {{"version", "1.0"},
               {"added_tokens", golden()["added_tokens"]},
               {"normalizer", kind["normalizer"]},
               {"pre_tokenizer", kind["pre_tokenizer"]},
               {"post_processor", kind["post_processor"]},
               {"model", golden()["model"]}};
  json["model"]["ignore_merges"] = kind["ignore_merges"];
  return json;
}

void check_ids(const BpeTokenizer& tokenizer, const Json& ids, const EncodeOptions& options = {}) {
  const auto& texts = golden()["texts"];
  REQUIRE(ids.size() == texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i].dump());
    CHECK(tokenizer.encode(texts[i].get<std::string>(), options) == ids[i].get<Ids>());
  }
}

// GPT-2's two files, from POLICYGRAD_DATA.
std::string gpt2_file(const std::string& name) {
  const char* folder = std::getenv("POLICYGRAD_DATA");
  const std::string path = fmt::format("{}/{}", folder ? folder : "", name);
  if (!folder || !std::filesystem::exists(path)) SKIP_TEST(name + " is not in POLICYGRAD_DATA");
  return path;
}

}  // namespace

TEST_CASE("every kind of tokenizer gives the ids of tokenizers", "[bpe]") {
  CHECK(golden()["kinds"].size() == 6);
  for (const auto& [name, kind] : golden()["kinds"].items()) {
    INFO(name);
    const BpeTokenizer tokenizer = bpe_from_json(whole(kind).dump());
    check_ids(tokenizer, kind["ids"]);
    for (size_t i = 0; i < kind["ids"].size(); ++i) {
      if (kind["decoded"][i].is_null()) continue;
      CHECK(tokenizer.decode(kind["ids"][i].get<Ids>()) == kind["decoded"][i].get<std::string>());
    }
    // Written and read again, it is the same tokenizer.
    const auto again = tokenizer_from_json(tokenizer.to_json());
    check_ids(dynamic_cast<const BpeTokenizer&>(*again), kind["ids"]);
    CHECK(again->to_json() == tokenizer.to_json());
    // Merges may be texts "a b".
    auto older = whole(kind);
    for (auto& merge : older["model"]["merges"]) {
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    }
    check_ids(bpe_from_json(older.dump()), kind["ids"]);
  }
}

TEST_CASE("a tiktoken file with the patterns of GPT-4 and GPT-4o gives the ids of tiktoken", "[bpe]") {
  const auto ranks = golden()["ranks"].get<std::string>();
  for (const auto& [name, ids] : golden()["tiktoken"].items()) {
    INFO(name);
    const BpeTokenizer tokenizer = bpe_from_tiktoken(ranks, name);
    check_ids(tokenizer, ids);
    check_ids(bpe_from_json(tokenizer.to_json()), ids);
  }
}

TEST_CASE("training gives the vocabulary and the merges of BpeTrainer", "[bpe]") {
  std::string text;
  for (auto i = golden()["first_learned"].get<size_t>(); i < golden()["texts"].size(); ++i) {
    text += golden()["texts"][i].get<std::string>() + "\n";
  }
  text.pop_back();
  const std::string_view texts[] = {text};
  const auto& model = golden()["model"];
  const BpeTokenizer trained = train_bpe(texts, {.vocab_size = std::ssize(model["vocab"]), .special = {}});
  const Json json = Json::parse(trained.to_json());
  CHECK(json["model"]["vocab"] == model["vocab"]);
  CHECK(json["model"]["merges"] == model["merges"]);
}

TEST_CASE("GPT-2's vocabulary gives the ids of tiktoken", "[bpe]") {
  const std::string vocab = gpt2_file("gpt2_encoder.json"), merges = gpt2_file("gpt2_vocab.bpe");
  const BpeTokenizer tokenizer = bpe_from_vocab(read_file(vocab), read_file(merges), "gpt2");
  CHECK(tokenizer.vocab_size() == 50257);
  CHECK(tokenizer.end_id() == 50256);
  check_ids(tokenizer, golden()["gpt2"]);
  CHECK(tokenizer.encode("Hello world") == Ids{15496, 995});
  CHECK(tokenizer.encode("don't DON'T we'LL") == Ids{9099, 470, 23917, 6, 51, 356, 6, 3069});
  CHECK(tokenizer.encode("a<|endoftext|>b") == Ids{64, 50256, 65});
  CHECK(load_tokenizer(merges)->encode(" Hello") == load_tokenizer(vocab)->encode(" Hello"));
  const std::string shakespeare = find_data(data_file("tinyshakespeare.txt"));
  if (shakespeare.empty()) SKIP_TEST("tinyshakespeare.txt is not in POLICYGRAD_DATA");
  const Ids ids = tokenizer.encode(read_file(shakespeare));
  CHECK(ids.size() == 338025);  // nanoGPT's data/shakespeare: 301,966 and 36,059
  CHECK(tokenizer.decode_bytes(ids) == read_file(shakespeare));
}
