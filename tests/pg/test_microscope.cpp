// A recorded step (pg rl --record-step) and the page microscope.html: what is recorded is what was trained on, and the
// gradient of each token is the derivative of the loss.
#include "rl/text/rollout.h"
#include "rl/text/trainer.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tools/pg/run/step_record.h"
#include "tools/web/microscope.h"

using namespace pg;
using testing::contains;
using testing::error_of;
using testing::TempDir;
using web::Microscope;

namespace {

Json example() {
  static const Json file = Json::parse(testing::read_bytes("tools/web/step.json"));
  return file;
}

Json request(std::string_view algorithm, int64_t update, int64_t group = 0) {
  return {{"algorithm", algorithm}, {"update", update}, {"group", group}};
}

// A step of a tiny model, recorded as pg rl does.
Json recorded(const std::string& algorithm, const TextTask& task, const std::string& path) {
  Generator init(1);
  Transformer policy({.vocab_size = task.vocab_size(),
                      .block_size = rl::block_size_for(task),
                      .n_layer = 1,
                      .n_head = 2,
                      .n_embd = 16,
                      .in_proj_std = 0.25},
                     init);
  rl::RlConfig config;
  config.algorithm = rl::algorithm(algorithm);
  config.algorithm.epochs = 3;
  config.batch = {.prompts = 4, .samples = 4};
  config.steps = 2;
  config.eval_interval = 0;
  config.eval_problems = 2;
  config.schedule.lr = 1e-2;
  rl::RlTrainer trainer(policy, task, config);
  tools::StepRecorder recorder(2, config, task, policy);
  trainer.run(recorder.added_to({}, path));
  return Json::parse(testing::read_bytes(path));
}

}  // namespace

TEST_CASE("a recorded step gives the advantages and losses of the run", "[microscope]") {
  const std::string name = GENERATE("grpo", "ppo", "rloo", "gspo", "dr_grpo", "dapo", "high_entropy", "gdpo");
  CAPTURE(name);
  TempDir temp;
  // Untrained, no response of countdown is right, so that dapo's groups differ in the penalty for length alone.
  const auto task = name == "dapo" ? make_text_task("countdown") : make_text_task("reverse", {{"length", "2"}});
  const Json file = recorded(name, *task, temp.file("step.json"));
  REQUIRE(file["updates"].size() == 3);
  Microscope microscope;
  microscope.load(file);
  for (int64_t k = 0; k < 3; ++k) {
    const double trained = file["updates"][static_cast<size_t>(k)]["loss"].get<double>();
    // The run computes in f32.
    CHECK(microscope.examine(request(name, k))["loss"].get<double>() == Approx(trained).epsilon(1e-4).margin(2e-6));
  }
  for (int64_t p = 0; p < 4; ++p) {
    const Json seen = microscope.examine(request(name, 0, p))["responses"];
    for (size_t i = 0; i < 4; ++i) {
      const auto got = seen[i]["advantage"].get<std::vector<double>>();
      const auto want = file["responses"][static_cast<size_t>(p) * 4 + i]["advantage"].get<std::vector<double>>();
      REQUIRE(got.size() == want.size());
      for (size_t t = 0; t < got.size(); ++t) CHECK(got[t] == Approx(want[t]).epsilon(1e-9).margin(1e-9));
    }
  }
}

TEST_CASE("the gradient of each token is the derivative of the loss", "[microscope]") {
  constexpr double kStep = 1e-5;
  const Json table = Microscope::table();
  for (const Json& row : table) {
    const std::string& name = row["name"].text();
    // cispo's ratio, and the ratio of gspo_token, are constants in the gradient but not in the value.
    if (name == "remax" || name == "cispo" || name == "gspo_token") continue;
    CAPTURE(name);
    Microscope microscope;
    microscope.load(example());
    const Json seen = microscope.examine(request(name, 2));
    const auto loss_at = [&](size_t b, size_t t, double move) {
      Json file = example();
      Json& log_prob = file["responses"][b]["log_prob"][1][t];
      log_prob = log_prob.get<double>() + move;
      Microscope moved;
      moved.load(file);
      return moved.examine(request(name, 2))["loss"].get<double>();
    };
    for (const size_t b : {0, 1, 4}) {
      const auto gradient = seen["responses"][b]["gradient"].get<std::vector<double>>();
      for (size_t t = 0; t < gradient.size(); ++t) {
        const double slope = (loss_at(b, t, kStep) - loss_at(b, t, -kStep)) / (2 * kStep);
        CAPTURE(b, t);
        CHECK(gradient[t] == Approx(slope).epsilon(1e-6).margin(1e-9));
      }
    }
  }
}

TEST_CASE("the constants of an algorithm act", "[microscope]") {
  Microscope microscope;
  microscope.load(example());
  Json with = request("dr_grpo", 4);
  const Json plain = microscope.examine(with);
  with["set"] = {{"clip-low", "0.001"}, {"clip-high", "0.001"}};
  const Json clipped = microscope.examine(with);
  // A clipped token has no gradient, and the others have the same as before.
  double stopped = 0;
  for (size_t i = 0; i < clipped["responses"].size(); ++i) {
    const Json &r = clipped["responses"][i], &before = plain["responses"][i];
    for (size_t t = 0; t < r["stopped"].size(); ++t) {
      const bool stops = r["stopped"][t].get<int>() != 0;
      stopped += stops;
      CHECK(r["gradient"][t].get<double>() == (stops ? 0 : before["gradient"][t].get<double>()));
    }
  }
  CHECK(stopped > 0);
  const auto error = [&](Json set) {
    with["set"] = std::move(set);
    return error_of([&] { (void)microscope.examine(with); });
  };
  CHECK(contains(error({{"clip-low", "-3"}}), "clip-low"));
  CHECK(contains(error({{"clip-low", "much"}}), "clip-low"));
  CHECK(contains(error({{"clip", "1"}}), "clip-low"));
  CHECK(contains(error_of([&] { (void)microscope.examine(request("grppo", 0)); }), "grpo"));
  CHECK(contains(error_of([&] { (void)microscope.examine(request("grpo", 5)); }), "update 5"));
  CHECK(contains(error_of([&] { (void)microscope.examine(request("grpo", 0, 3)); }), "group 3"));
  CHECK(contains(error_of([&] { (void)microscope.examine(request("remax", 0)); }), "greedy"));
}

TEST_CASE("a damaged step file is an error and leaves the step before", "[microscope]") {
  Microscope microscope;
  microscope.load(example());
  const double before = microscope.examine(request("grpo", 3))["loss"].get<double>();
  const auto refuse = [&](const Json& file) {
    const std::string error = error_of([&] { microscope.load(file); });
    CHECK(contains(error, "step file"));
    CHECK(microscope.examine(request("grpo", 3))["loss"].get<double>() == before);
  };
  for (const char* text : {"[]", "3", "null", "{}", "{\"kind\": \"policygrad step\"}"}) refuse(Json::parse(text));
  const std::vector<Json> odd = {
      nullptr, true, -1, 1e300, "text", Json::array(), Json::object(), std::vector<double>(99999, 0)};
  const auto fits = [](std::string_view name, const Json& value) {
    if (name == "step" || name == "score") return value.is_number();
    if (name == "task" || name == "algorithm" || name == "prompt") return value.is_string();
    return name == "updates" && value.is_array() && value.empty();
  };
  for (const char* name :
       {"kind", "version", "step", "task", "algorithm", "longest", "samples", "updates", "responses"}) {
    for (const Json& value : odd) {
      CAPTURE(name, value.dump().substr(0, 40));
      Json file = example();
      if (fits(name, value)) continue;
      file[name] = value;
      refuse(file);
    }
  }
  for (const char* name : {"prompt_ids", "ids", "policy", "reward", "sampler_log_prob", "old_log_prob", "log_prob",
                           "prompt", "tokens", "score"}) {
    for (const Json& value : odd) {
      CAPTURE(name, value.dump().substr(0, 40));
      Json file = example();
      if (fits(name, value)) continue;
      file["responses"][5][name] = value;
      refuse(file);
    }
    Json file = example();
    file["responses"][5].erase(name);
    refuse(file);
  }
}

TEST_CASE("a request that is none is answered with an error", "[microscope]") {
  for (const char* text : {"", "{", "[]", "{\"do\": \"fly\"}", "{\"do\": \"examine\"}", "{\"do\": \"load\"}"}) {
    CAPTURE(text);
    CHECK(Json::parse(web::microscope(text)).contains("error"));
  }
  CHECK(Json::parse(web::microscope("{\"do\": \"table\"}"))["value"].size() == rl::algorithms().size());
}
