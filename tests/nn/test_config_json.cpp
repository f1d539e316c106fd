// Configurations as JSON: every type of field, and texts as they are in existing checkpoints.
#include "nn/config_json.h"
#include "nn/transformer.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;

namespace {

struct Config {
  double rate = 0.1;
  int64_t size = 3;
  int ddof = 1;
  uint64_t seed = 1;
  bool on = true;
  std::string text = "usual";
  DType dtype = f32;
};

std::vector<Field> fields(Config& c) {
  return {{"rate", &c.rate, "", kShare},
          {"big-size", &c.size, "", whole_from(1)},
          {"ddof", &c.ddof, ""},
          {"seed", &c.seed, ""},
          {"on", &c.on, ""},
          {"text", &c.text, ""},
          {"dtype", named_field<DType>(c.dtype, {{"f32", f32}, {"bf16", bf16}}), ""}};
}

}  // namespace

TEST_CASE("config json: every type survives, and the bits of numbers", "[nn][checkpoint]") {
  Config c;
  CHECK(to_json(fields(c)) == R"({"rate":0.1,"big_size":3,"ddof":1,"seed":1,"on":true,"text":"usual","dtype":"f32"})");
  c = {.rate = 1.0 / 3, .size = 4, .ddof = 0, .seed = ~uint64_t{0}, .on = false, .text = "\"\n", .dtype = bf16};
  Config back;
  set_from_json(fields(back), to_json(fields(c)), "here");
  CHECK(back.rate == c.rate);
  CHECK(back.size == 4);
  CHECK(back.ddof == 0);
  CHECK(back.seed == c.seed);
  CHECK(back.on == false);
  CHECK(back.text == c.text);
  CHECK(back.dtype == bf16);
}

TEST_CASE("config json: a wrong text is refused with the key", "[nn][checkpoint]") {
  const auto refused = [](const std::string& from, const std::string& to) {
    Config c;
    std::string json = to_json(fields(c));
    json.replace(json.find(from), from.size(), to);
    return error_of([&] { set_from_json(fields(c), json, "here"); });
  };
  CHECK(refused("0.1", "1").empty());  // a number without a point is a number
  CHECK(refused("0.1", "2") == "here: 'rate' cannot be 2");
  CHECK(refused("0.1", "true") == "here: 'rate' cannot be true");
  CHECK(refused("0.1", "\"0.1\"") == "here: 'rate' cannot be \"0.1\"");
  CHECK(refused(":3", ":3.5") == "here: 'big_size' cannot be 3.5");
  CHECK(refused(":3", ":0") == "here: 'big_size' cannot be 0");
  CHECK(refused("\"on\":true", "\"on\":1") == "here: 'on' cannot be 1");
  CHECK(refused("\"f32\"", "\"f64\"") == "here: 'dtype' cannot be \"f64\"");
  CHECK(refused("\"ddof\"", "\"dof\"") == "here: unknown key 'dof'");
  CHECK(refused("\"on\":true,", "") == "here: 'on' is missing");
  Config c;
  CHECK(error_of([&] { set_from_json(fields(c), "[]", "here"); }) == "here: expected a JSON object, got '[]'");
}

TEST_CASE("config json: the text of a model in existing checkpoints", "[nn][checkpoint]") {
  const std::string text =
      R"({"vocab_size":11,"block_size":8,"n_layer":1,"n_head":2,"n_embd":16,"dropout":0.0,"bias":true,)"
      R"("in_proj_std":0.25,"dtype":"bf16"})";
  const TransformerConfig config = {
      .vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16, .in_proj_std = 0.25, .dtype = bf16};
  CHECK(transformer_config_from_json(text) == config);
  CHECK(to_json(config) == text);
}
