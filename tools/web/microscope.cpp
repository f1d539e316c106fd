// Reads a recorded step, and computes its policy gradient with the functions of rl/methods.
#include "tools/web/microscope.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "rl/policy_loss.h"

namespace pg::web {
namespace {

constexpr int64_t kMostNumbers = 16'000'000;  // of [B, T] times the updates: 128 MB

// Fields of the sampling, and of losses that do not act on the log-probabilities of a recorded step.
constexpr std::string_view kElsewhere[] = {"epochs",         "entropy-bonus",   "value-coef",     "value-clip",
                                           "overlong-cache", "reference-decay", "baseline-decay", "reference-interval"};

// The response that a list of numbers belongs to, for messages.
std::string place(size_t response, const std::string& name) {
  return fmt::format("step file: responses[{}].{}", response, name);
}

const Json& member(const Json& object, const std::string& name, const std::string& where) {
  const Json* found = object.find(name);
  check(found, "{}: not found", where);
  return *found;
}

std::vector<double> numbers_of(const Json& json, const std::string& where, size_t count) {
  check(json.is_array() && json.size() == count, "{}: expected {} numbers, got {}", where, count,
        json.is_array() ? std::to_string(json.size()) : json.type_name());
  std::vector<double> numbers;
  for (const Json& x : json) {
    check(x.is_number() && std::isfinite(x.get<double>()), "{}: expected finite numbers, got {}", where, x.dump());
    numbers.push_back(x.get<double>());
  }
  return numbers;
}

std::vector<int32_t> ids_of(const Json& json, const std::string& where) {
  check(json.is_array() && !json.empty(), "{}: expected token ids, got {}", where,
        json.is_array() ? "none" : json.type_name());
  std::vector<int32_t> ids;
  for (const Json& id : json) {
    check(id.is_integer_in(0, INT32_MAX), "{}: expected token ids, got {}", where, id.dump());
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// Writes a list per response into rows of [B, T], at the positions of its tokens.
class Columns {
 public:
  Columns(const Json& responses, const rl::TokenRows& rows) : responses_(responses), rows_(rows) {}
  // x(response, where) is the list of one response.
  template <class F>
  Tensor filled(const std::string& name, F x) const {
    const Tensor to = Tensor::zeros(rows_.mask.shape(), f64);
    const auto out = to.data<double>();
    for (size_t b = 0; b < responses_.size(); ++b) {
      const std::vector<double> numbers = numbers_of(x(responses_[b], place(b, name)), place(b, name), tokens(b));
      std::copy(numbers.begin(), numbers.end(), out.begin() + begin(b));
    }
    return to;
  }
  Tensor named(const std::string& name) const {
    return filled(name, [&](const Json& r, const std::string& where) -> const Json& { return member(r, name, where); });
  }
  // Undefined if the first response has no such list.
  Tensor optional(const std::string& name) const { return responses_[0].contains(name) ? named(name) : Tensor{}; }

 private:
  int64_t begin(size_t b) const { return static_cast<int64_t>(b) * rows_.mask.size(1) + rows_.prompts[b] - 1; }
  size_t tokens(size_t b) const { return static_cast<size_t>(rows_.lengths[b] - rows_.prompts[b] + 1); }

  const Json& responses_;
  const rl::TokenRows& rows_;
};

rl::TokenRows rows_from(const Json& responses) {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<uint8_t>> masks;
  for (size_t b = 0; b < responses.size(); ++b) {
    const Json& r = responses[b];
    ids.push_back(ids_of(member(r, "prompt_ids", place(b, "prompt_ids")), place(b, "prompt_ids")));
    ids.push_back(ids_of(member(r, "ids", place(b, "ids")), place(b, "ids")));
    std::vector<uint8_t>& mask = masks.emplace_back();
    for (const double x : numbers_of(member(r, "policy", place(b, "policy")), place(b, "policy"), ids.back().size())) {
      check(x == 0 || x == 1, "{}: expected 0 or 1 for each token, got {}", place(b, "policy"), x);
      mask.push_back(static_cast<uint8_t>(x));
    }
  }
  std::vector<rl::Sequence> sequences;
  for (size_t b = 0; b < masks.size(); ++b) sequences.push_back({ids[2 * b], ids[2 * b + 1], masks[b]});
  return rl::token_rows(sequences);
}

// What the page shows without the engine.
void check_texts(const Json& file) {
  const Json& responses = file["responses"];
  check(file["step"].is_number() && file["task"].is_string() && file["algorithm"].is_string(),
        "step file: expected a number \"step\" and texts \"task\" and \"algorithm\"");
  for (size_t b = 0; b < responses.size(); ++b) {
    const Json &r = responses[b], &tokens = r["tokens"];
    check(r["prompt"].is_string(), "{}: expected a text, got {}", place(b, "prompt"), r["prompt"].type_name());
    check(r["score"].is_number(), "{}: expected a number, got {}", place(b, "score"), r["score"].type_name());
    check(tokens.is_array() && tokens.size() == r["ids"].size() &&
              std::all_of(tokens.begin(), tokens.end(), [](const Json& x) { return x.is_string(); }),
          "{}: expected a text for each of the {} ids", place(b, "tokens"), r["ids"].size());
  }
}

// The parts of the reward, named by the first response.
void read_parts(rl::Batch& batch, const Json& responses) {
  if (!responses[0].contains("parts")) return;
  for (const auto& [name, value] : responses[0]["parts"].items()) {
    std::vector<double> values;
    for (size_t b = 0; b < responses.size(); ++b) {
      const Json& x = member(responses[b]["parts"], name, place(b, "parts." + name));
      check(x.is_number(), "{}: expected a number, got {}", place(b, "parts." + name), x.dump());
      values.push_back(x.get<double>());
    }
    batch.part_names.push_back(name);
    batch.parts.push_back(Tensor::from(values, {batch.size(), 1}));
  }
}

// A list of a number per token of response b, of x [B, T] or [B, 1].
Json tokens_of(const Tensor& x, const rl::Batch& batch, size_t b) {
  if (!x.defined()) return nullptr;
  const Tensor all = contiguous(expand(x.detach(), batch.mask.shape()));
  const auto row = static_cast<int64_t>(b);
  return all.view_slice(0, row, row + 1).view_slice(1, batch.prompts[b] - 1, batch.lengths[b]).to_vector();
}

}  // namespace

void Microscope::load(const Json& file) {
  check(file.is_object() && file["kind"] == Json("policygrad step"),
        "step file: no \"kind\": \"policygrad step\"; pg rl --record-step N writes such a file");
  check(file["version"] == Json(1), "step file: version {} is not known, 1 is", file["version"].dump());
  const Json& responses = member(file, "responses", "step file: responses");
  check(responses.is_array() && !responses.empty(), "step file: expected responses, got {}", responses.type_name());
  check(file["samples"].is_integer_in(1, static_cast<int64_t>(responses.size())) &&
            responses.size() % file["samples"].get<size_t>() == 0,
        "step file: samples {} does not divide the {} responses", file["samples"].dump(), responses.size());
  check(file["updates"].is_array() && file["updates"].size() <= 1000, "step file: updates: expected a list, got {}",
        file["updates"].type_name());
  check(file["longest"].is_integer_in(1, INT32_MAX), "step file: longest: expected a whole number, got {}",
        file["longest"].dump());

  Microscope read;
  static_cast<rl::TokenRows&>(read.batch_) = rows_from(responses);
  check_texts(file);
  rl::Batch& batch = read.batch_;
  batch.samples = file["samples"].get<int64_t>();
  const size_t updates = file["updates"].size();
  check(batch.mask.numel() * static_cast<int64_t>(updates + 8) <= kMostNumbers,
        "step file: {} responses of up to {} tokens and {} updates are too many to show", batch.size(),
        batch.mask.size(1), updates);
  const Columns columns(responses, batch);
  batch.reward = columns.named("reward");
  batch.sampler_log_prob = columns.named("sampler_log_prob");
  batch.old_log_prob = columns.named("old_log_prob");
  batch.ref_log_prob = columns.optional("ref_log_prob");
  batch.entropy = columns.optional("entropy");
  batch.value = columns.optional("value");
  read_parts(batch, responses);
  const auto groups = static_cast<size_t>(batch.size() / batch.samples);
  if (file.contains("greedy")) {
    batch.greedy =
        Tensor::from(numbers_of(file["greedy"], "step file: greedy", groups), {static_cast<int64_t>(groups), 1});
  }
  read.log_probs_ = {batch.old_log_prob};
  for (size_t k = 0; k < updates; ++k) {
    read.log_probs_.push_back(columns.filled("log_prob", [&](const Json& r, const std::string& where) -> const Json& {
      const Json& all = member(r, "log_prob", where);
      check(all.is_array() && all.size() == updates, "{}: expected {} lists, one for each update", where, updates);
      return all[k];
    }));
  }
  read.scored_.samples = batch.samples;
  for (size_t b = 0; b < responses.size(); ++b) {
    Score& score = read.scored_.responses.emplace_back().score;
    score.reward = responses[b]["score"].get<double>();
    for (size_t k = 0; k < batch.parts.size(); ++k) {
      score.parts.emplace_back(batch.part_names[k], batch.parts[k].to_vector()[b]);
    }
  }
  read.algorithm_ = member(file, "algorithm", "step file: algorithm").text();
  if (const Json* fields = file.find("fields")) fields->get_to(read.fields_);
  read.longest_ = file["longest"].get<double>();
  *this = std::move(read);
}

namespace {

// What an algorithm needs and a step has not.
void check_has(const rl::Algorithm& a, const rl::Batch& b) {
  const auto need = [&](bool needed, bool has, const char* what, const char* how) {
    check(!needed || has, "{} needs {}, which this step was recorded without: {}", a.name, what, how);
  };
  need(a.baseline.needs.critic, b.value.defined(), "a critic's values", "record a step of ppo");
  need(a.baseline.needs.greedy, b.greedy.defined(), "rewards of greedy responses", "record a step of remax");
  need(a.baseline.needs.parts, !b.parts.empty(), "the parts of the reward", "record a task that has some");
  need(a.kl.in_reward || a.kl.in_loss, b.ref_log_prob.defined(), "a reference", "record a step of grpo or ppo");
  need(a.tokens.needs_entropy, b.entropy.defined(), "the entropy of each token", "record the step again");
  check(!a.kl.in_loss || !a.kl_estimator.needs_logits, "{}: the KL over the whole vocabulary is not recorded", a.name);
}

Json bound(double x) { return std::isfinite(x) && std::abs(x) < 1e15 ? Json(x) : Json(nullptr); }

Json constants_of(rl::Algorithm& a) {
  const std::vector<rl::UnusedField> unused = rl::unused_fields(a);
  const bool has_kl = a.kl.in_reward || a.kl.in_loss;
  Json all = Json::array();
  for (const Field& field : rl::fields(a)) {
    const bool number = std::holds_alternative<double*>(field.value) || std::holds_alternative<int64_t*>(field.value) ||
                        std::holds_alternative<int*>(field.value);
    const bool acts = std::none_of(unused.begin(), unused.end(), [&](const auto& u) { return u.name == field.name; }) &&
                      std::find(std::begin(kElsewhere), std::end(kElsewhere), field.name) == std::end(kElsewhere) &&
                      (has_kl || !field.name.starts_with("kl-"));
    if (!number || !acts) continue;
    all.push_back({{"name", field.name},
                   {"about", field.about},
                   {"value", std::stod(field.text())},
                   {"low", bound(field.range.low)},
                   {"high", bound(field.range.high)},
                   {"whole", field.range.whole || !std::holds_alternative<double*>(field.value)}});
  }
  return all;
}

}  // namespace

Json Microscope::table() {
  Json rows = Json::array();
  for (const rl::Algorithm& a : rl::algorithms()) rows.push_back({{"name", a.name}, {"source", a.source}});
  return rows;
}

Json Microscope::examine(const Json& request) const {
  check(!log_probs_.empty(), "microscope: no step is loaded");
  rl::Algorithm a = rl::algorithm(request["algorithm"].text());
  const std::vector<Field> fields = rl::fields(a);
  if (a.name == algorithm_) set_fields(fields, a.name, fields_);
  set_fields(fields, a.name, request.value("set", std::map<std::string, std::string>{}));
  rl::Batch b = batch_;
  rl::check_algorithm(a, {.prompts = b.size() / b.samples, .samples = b.samples});
  check_has(a, b);
  check(request["update"].is_integer_in(0, std::ssize(log_probs_) - 1), "microscope: update {} is not 0 to {}",
        request["update"].dump(), log_probs_.size() - 1);
  check(request["group"].is_integer_in(0, b.size() / b.samples - 1), "microscope: group {} is not 0 to {}",
        request["group"].dump(), b.size() / b.samples - 1);

  const double beta = rl::KlControl(a.kl_control).beta();
  if (a.kl.in_reward)
    b.reward = a.kl.subtract(b.reward, {b.old_log_prob, b.ref_log_prob, b.old_log_prob, {}, b.mask}, beta);
  if (a.dynamic_sampling) {
    const Tensor signal = rl::groups_with_signal(scored_, a).view_reshape({-1, 1});
    b.signal = contiguous(expand(signal, {signal.size(0), b.samples})).view_reshape({b.size(), 1});
  }
  rl::MovingBaseline moving(a.baseline_decay);
  b.advantage = rl::advantages(a, b, moving);
  Generator generator(0);
  if (a.tokens.select) b.selected = a.tokens.select(b, a, generator);

  const Tensor log_prob = log_probs_[request["update"].get<size_t>()].clone().set_requires_grad();
  const rl::Denominators total = rl::denominators(b.mask, longest_);
  const auto aggregate = [&](const Tensor& x) { return a.aggregation.aggregate(x, b.mask, total); };
  const Tensor of_tokens = rl::token_losses(a, log_prob, b), policy_loss = aggregate(of_tokens);
  Tensor loss = policy_loss, kl, kl_loss;
  if (a.kl.in_loss) {
    kl = a.kl_estimator.estimate({log_prob, b.ref_log_prob, b.old_log_prob, {}, b.mask});
    kl_loss = aggregate(kl);
    loss = loss + beta * kl_loss;
  }
  backward(loss);

  Json value = {{"loss", loss.item()},
                {"policy_loss", policy_loss.item()},
                {"kl_loss", kl_loss.defined() ? Json(kl_loss.item()) : Json(nullptr)},
                {"beta", a.kl.in_reward || a.kl.in_loss ? Json(beta) : Json(nullptr)},
                {"explain", rl::explain(a, {.prompts = b.size() / b.samples, .samples = b.samples})},
                {"constants", constants_of(a)},
                {"responses", Json::array()}};
  NoGrad no_grad;
  const Tensor now = log_prob.detach();
  const Tensor ratio = a.ratio.compute ? a.ratio.compute(now, b.old_log_prob, b.mask) : Tensor{};
  const Tensor weight = a.weight.compute ? a.weight.compute(b.old_log_prob, b.sampler_log_prob, b.mask, a) : Tensor{};
  const Tensor credit = a.credit.compute(b.reward, b.mask, a.gamma);
  const Tensor gradient = log_prob.grad().defined() ? log_prob.grad() : zeros_like(now);
  const size_t first = request["group"].get<size_t>() * static_cast<size_t>(b.samples);
  for (size_t r = first; r < first + static_cast<size_t>(b.samples); ++r) {
    Json row = {{"reward", tokens_of(b.reward, b, r)},       {"credit", tokens_of(credit, b, r)},
                {"advantage", tokens_of(b.advantage, b, r)}, {"log_prob", tokens_of(now, b, r)},
                {"old", tokens_of(b.old_log_prob, b, r)},    {"ratio", tokens_of(ratio, b, r)},
                {"weight", tokens_of(weight, b, r)},         {"kl", tokens_of(kl, b, r)},
                {"loss", tokens_of(of_tokens, b, r)},        {"gradient", tokens_of(gradient, b, r)}};
    row["stopped"] = Json::array();
    for (size_t t = 0; ratio.defined() && t < row["ratio"].size(); ++t) {
      const double log_ratio = std::log(row["ratio"][t].get<double>()), of_token = row["advantage"][t].get<double>();
      row["stopped"].push_back(a.surrogate.stopped ? a.surrogate.stopped(log_ratio, of_token, a) : 0);
    }
    value["responses"].push_back(std::move(row));
  }
  return value;
}

std::string microscope(std::string_view text) {
  static Microscope one;
  Json answer;
  try {
    const Json request = Json::parse(text);
    const std::string what = request["do"].text();
    if (what == "load") {
      one.load(request["file"]);
      answer["value"] = true;
    } else if (what == "table") {
      answer["value"] = Microscope::table();
    } else {
      check(what == "examine", "microscope: expected table, load or examine, got {}", what);
      answer["value"] = one.examine(request);
    }
  } catch (const std::exception& error) {
    answer["error"] = error.what();
  }
  return answer.dump(-1, Json::Utf8::replace);
}

}  // namespace pg::web
