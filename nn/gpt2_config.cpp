// GPT-2's hyperparameters as JSON, and their checks.
#include <nlohmann/json.hpp>

#include "nn/gpt2.h"
#include "tensor/base/text.h"

namespace pg {

namespace {
// Also works for a value whose strings are not UTF-8.
std::string printed(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
}  // namespace

std::string to_json(const Gpt2Config& c) {
  const nlohmann::ordered_json json = {{"vocab_size", c.vocab_size},
                                       {"block_size", c.block_size},
                                       {"n_layer", c.n_layer},
                                       {"n_head", c.n_head},
                                       {"n_embd", c.n_embd},
                                       {"dropout", c.dropout},
                                       {"bias", c.bias},
                                       {"in_proj_std", c.in_proj_std},
                                       {"dtype", name_of(c.dtype)}};
  return json.dump();
}

double least_parameters(const Gpt2Config& c) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  return n(c.n_embd) * (n(c.vocab_size) + n(c.block_size) + 12 * n(c.n_layer) * n(c.n_embd));
}

Gpt2Config gpt2_config_from_json(std::string_view text) {
  using nlohmann::json;
  const json given = json::parse(shallow_json(text, "Gpt2 config"), nullptr, /*allow_exceptions=*/false);
  check(given.is_object(), "Gpt2 config: expected a JSON object, got '{}'", excerpt(text));
  const json known = json::parse(to_json(Gpt2Config{}));
  for (const auto& [name, value] : given.items())
    check(known.contains(name), "Gpt2 config: unknown key '{}'", excerpt(name));

  const auto field = [&](const char* name, bool (*right_type)(const json&)) -> const json& {
    const auto found = given.find(name);
    check(found != given.end(), "Gpt2 config: '{}' is missing", name);
    check(right_type(*found), "Gpt2 config: '{}' cannot be {}", name, excerpt(printed(*found)));
    return *found;
  };
  const auto whole = [&](const char* name) {
    return field(name, [](const json& v) { return v.is_number_unsigned() && v <= INT32_MAX; }).get<int64_t>();
  };
  const json& dropout = field("dropout", [](const json& v) { return v.is_number(); });
  const json& in_proj_std = field("in_proj_std", [](const json& v) { return v.is_number(); });
  const json& bias = field("bias", [](const json& v) { return v.is_boolean(); });
  const json& dtype = field("dtype", [](const json& v) { return v == "f32" || v == "f64" || v == "bf16"; });
  return {.vocab_size = whole("vocab_size"),
          .block_size = whole("block_size"),
          .n_layer = whole("n_layer"),
          .n_head = whole("n_head"),
          .n_embd = whole("n_embd"),
          .dropout = dropout.get<double>(),
          .bias = bias.get<bool>(),
          .in_proj_std = in_proj_std.get<double>(),
          .dtype = dtype == "f64"    ? f64
                   : dtype == "bf16" ? bf16
                                     : f32};
}

}  // namespace pg
