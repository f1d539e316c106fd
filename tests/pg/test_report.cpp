// pg report: what is read from damaged files, bands over seeds, and the lines that runs keep for it.
#include <fstream>
#include <sstream>

#include "rl/text/rollout.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tests/catch.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/show/report_curves.h"
#include "tools/pg/show/report_folder.h"

using namespace pg;
using namespace std::string_literals;
using namespace pg::tools;
using testing::contains;
using testing::error_of;
using testing::TempDir;

namespace {

void write(const std::string& path, const std::string& text) {
  make_folder(std::filesystem::path(path).parent_path().string());
  write_file_atomically(path, text);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// All notes, a line each.
std::string notes_of(const ReportData& data) {
  std::string text;
  for (const std::string& note : data.notes.sentences()) text += note + "\n";
  return text;
}

}  // namespace

TEST_CASE("a band has the mean and the extremes of the runs at each step", "[report]") {
  // By hand: step 1 of 2, 4 and 9; step 2 of 1 and 3, since the third run has no value there; step 5 of the third.
  const CurvePoints a = {{1, 2}, {2, 1}}, b = {{1, 4}, {2, 3}}, c = {{1, 9}, {5, -7}};
  const Band band = band_of({&a, &b, &c});
  CHECK(band.x == std::vector<int64_t>{1, 2, 5});
  CHECK(band.mean == std::vector<double>{5, 2, -7});
  CHECK(band.low == std::vector<double>{2, 1, -7});
  CHECK(band.high == std::vector<double>{9, 3, -7});
  CHECK(band.runs == std::vector<int64_t>{3, 2, 1});
  CHECK(band.steps_per_point == 1);
  CHECK(band_of({}).x.empty());
}

TEST_CASE("a thinned band keeps the extremes", "[report]") {
  CurvePoints a;
  for (int64_t i = 0; i < 7; ++i) a[10 * i] = static_cast<double>(i * i);  // 0 1 4 9 16 25 36
  const CurvePoints b = {{10, 3}};
  const Band all = band_of({&a, &b});  // means 0 2 4 9 16 25 36
  CHECK(thinned(all, 7).x == all.x);
  // At most three points: of three steps each, the last of the one that is left.
  const Band band = thinned(all, 3);
  CHECK(band.steps_per_point == 3);
  CHECK(band.x == std::vector<int64_t>{20, 50, 60});
  CHECK(band.mean[0] == Approx(2));
  CHECK(band.mean[1] == Approx(50.0 / 3));
  CHECK(band.mean[2] == 36);
  CHECK(band.low == std::vector<double>{0, 9, 36});
  CHECK(band.high == std::vector<double>{4, 25, 36});
  CHECK(band.runs == std::vector<int64_t>{2, 1, 1});
}

TEST_CASE("runs that differ in their seed only are one group", "[report]") {
  const RunValues one = {{"seed", "1"}, {"lr", "0.1"}, {"name", "x"}};
  const RunValues two = {{"seed", "2"}, {"lr", "0.1"}}, other = {{"seed", "1"}, {"lr", "0.2"}};
  const auto groups = seed_groups({one, other, two, {}, {}});
  CHECK(groups == std::vector<std::vector<size_t>>{{0, 2}, {1}, {3}, {4}});
}

TEST_CASE("damaged lines become notes with file and line and are kept", "[report]") {
  TempDir temp;
  const std::string run = temp.file("run"), samples = run + "/samples.jsonl", metrics = run + "/metrics.jsonl";
  const std::string deep(100000, '[');
  write(run + "/config.yaml", "# pg rl\nseed: 3\ntask: sort\n");
  write(metrics, "{\"step\": 1, \"loss\": 2}\nnot JSON\n{\"loss\": 3}\n\n{\"step\": 2, \"loss\": null}\n" + deep +
                     "\n{\"step\": 3, \"loss\": \"x\", \"lr\": 4}\n{\"step\": 4, \"loss\": 1");
  write(samples, std::string("{\"step\": 1, \"response\": \"a\"}\n{\"step\": 1}\n[1, 2]\n") +
                     "{\"step\": 2, \"response\": \"\xff\xfe <b>\"}\n" +
                     "{\"step\": 2, \"response\": \"\\u0000</script>\"}\n\0\n"s + "{\"resp");
  ReportData data;
  read_report_folder(data, run);
  const std::string notes = notes_of(data);
  INFO(notes);
  for (const char* text :
       {"metrics.jsonl: line 2 is broken: it is no JSON", "metrics.jsonl: line 3 has no whole number \"step\"",
        "metrics.jsonl: line 6 is broken: it nests too deep", "metrics.jsonl: line 7: \"loss\" is no number",
        "metrics.jsonl: line 8, the last one, is cut off", "\"loss\" was not finite 1 times",
        "samples.jsonl: line 2 has no text \"response\"", "samples.jsonl: line 3 is broken: it is no JSON object",
        "samples.jsonl: line 4 has bytes that are no UTF-8", "samples.jsonl: line 6 is broken",
        "samples.jsonl: line 7, the last one, is cut off"}) {
    CAPTURE(text);
    CHECK(contains(notes, text));
  }
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].kind == "rl");
  CHECK(data.sources[0].config.at("task") == "sort");
  CHECK(data.sources[0].curves.at("loss") == CurvePoints{{1, 2}});
  CHECK(data.sources[0].curves.at("lr") == CurvePoints{{3, 4}});
  REQUIRE(data.samples.size() == 6);  // all but the line that is cut off
  CHECK(Json::parse(data.samples[2])["broken"] == "[1, 2]");
  CHECK(Json::parse(data.samples[3])["response"] == "\xef\xbf\xbd\xef\xbf\xbd <b>");
  CHECK(Json::parse(data.samples[4])["response"] == std::string("\0</script>", 10));
  CHECK(Json::parse(data.samples[4])["line"] == 5);
}

TEST_CASE("an answer of 10 MB is read whole", "[report]") {
  TempDir temp;
  const std::string run = temp.file("run"), answer(10000000, 'x');
  write(run + "/samples.jsonl", "{\"step\": 1, \"response\": \"" + answer + "\"}\n");
  ReportData data;
  read_report_folder(data, run);
  REQUIRE(data.samples.size() == 1);
  CHECK(Json::parse(data.samples[0])["response"].get<std::string>() == answer);
  CHECK(data.notes.sentences().empty());
  CHECK(data.sources[0].missing.size() == 2);  // no config, no metrics
}

TEST_CASE("a folder that is neither a run nor an evaluation is refused", "[report]") {
  TempDir temp;
  write(temp.file("empty/readme"), "text");
  const auto error = [&](const std::string& folder) {
    return error_of([&] {
      ReportData data;
      read_report_folder(data, folder);
    });
  };
  CHECK(contains(error(temp.file("gone")), "there is no such folder"));
  CHECK(contains(error(temp.file("empty/readme")), "it is a file"));
  CHECK(contains(error(temp.file("empty")), "it has no config.yaml, metrics.jsonl or results.jsonl"));
}

TEST_CASE("an evaluation has a source for each model", "[report]") {
  TempDir temp;
  const std::string folder = temp.file("eval");
  write(folder + "/evaluation.json",
        R"({"task": "sort", "models": [{"run": "runs/a", "step": 5}, {"run": "runs/b"}]})");
  write(folder + "/results.jsonl",
        "{\"model\": 0, \"response\": \"x\"}\n{\"model\": 1, \"response\": \"y\"}\n{\"model\": 99, \"response\": "
        "\"z\"}\n");
  ReportData data;
  read_report_folder(data, folder);
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[0].name == "A: a");
  CHECK(data.sources[1].name == "B: b");
  CHECK(data.sample_sources == std::vector<size_t>{0, 1, 1});
  CHECK(data.evaluations.empty());
  REQUIRE(data.sources[0].missing.size() == 1);
  CHECK(contains(data.sources[0].missing[0].get<std::string>(), "not finished"));
  // A summary that is damaged is a note, and no table.
  write(folder + "/summary.json", "{\"task\"");
  ReportData again;
  read_report_folder(again, folder);
  CHECK(contains(notes_of(again), "summary.json: it is no JSON; it is left out"));
}

TEST_CASE("failures of a health check in a row are one span", "[report]") {
  TempDir temp;
  const std::string run = temp.file("run");
  const RunDir folder = RunDir::create(temp.path.string(), "x");
  for (int64_t step = 1; step <= 6; ++step) {
    const bool bad = step == 2 || step == 3 || step == 6;
    append_health(folder, step, {{"ratio 1", true, ""}, {"entropy", !bad, bad ? "too low" : ""}});
  }
  ReportData data;
  write(folder.file("config.yaml"), "# pg rl\n");
  read_report_folder(data, folder.path());
  const Json& health = data.sources[0].health;
  REQUIRE(health.size() == 2);
  CHECK(health[0]["name"] == "ratio 1");
  CHECK(health[0]["ok"] == 6);
  CHECK(health[0]["failed"].empty());
  CHECK(health[1]["ok"] == 3);
  CHECK(health[1]["count"] == 3);
  CHECK(health[1]["failed"].dump() == "[[2,3],[6,6]]");
  CHECK(health[1]["why"] == "too low");
  CHECK(health[1]["why_step"] == 6);
}

namespace {

// Two groups of two responses to problems of sort, of one token more each, all sampled with probability 1/2.
rl::Experience experience_of(const TextTask& task) {
  Generator generator(1);
  rl::Experience all;
  all.samples = 2;
  for (size_t i = 0; i < 4; ++i) {
    const Problem problem = task.sample(generator);
    rl::Response r;
    r.prompt = problem.prompt;
    r.tokens.assign(problem.answer.begin(), problem.answer.end());
    r.action_mask.assign(r.tokens.size(), 1);
    r.sampler_log_probs.assign(r.tokens.size(), -0.693147);
    r.score = task.score(problem, r.tokens);
    r.finished = true;
    r.puzzle = problem.puzzle;
    all.responses.push_back(std::move(r));
  }
  return all;
}

}  // namespace

TEST_CASE("a line of samples says what each token says", "[report]") {
  const auto task = make_text_task("arithmetic");
  const rl::Experience experience = experience_of(*task);
  rl::Batch batch = rl::make_batch(experience);
  batch.old_log_prob = batch.sampler_log_prob;
  batch.ref_log_prob = batch.sampler_log_prob - 0.25;
  batch.advantage = batch.sampler_log_prob * -2.0;
  const std::vector<std::string> lines = sample_lines(*task, experience, 7, kTraining, &batch);
  REQUIRE(lines.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    const Json line = Json::parse(lines[i]);
    const rl::Response& r = experience.responses[i];
    CHECK(line["step"] == 7);
    CHECK(line["group"] == i / 2);
    CHECK(line["sample"] == i % 2);
    CHECK(line["problem"] == r.puzzle->question);
    CHECK(line["solved"] == true);
    CHECK(line["expected"] == r.puzzle->answer);
    CHECK(line["answer"] == r.puzzle->answer);
    CHECK(!line.contains("verdict"));
    std::string text;
    for (const auto& token : line["tokens"]) text += token.get<std::string>();
    CHECK(line["response"] == text);
    REQUIRE(line["tokens"].size() == r.tokens.size());
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      CHECK(line["log_prob"][t] == -0.6931);
      CHECK(line["kl"][t] == 0.25);
      CHECK(line["advantage"][t] == 1.386);
    }
    CHECK(!line.contains("policy"));
  }
  // Without a batch only the sampler's numbers are known.
  const Json plain = Json::parse(sample_lines(*task, experience, 0, kHeldOut)[0]);
  CHECK(plain.contains("log_prob"));
  CHECK(!plain.contains("advantage"));
}

TEST_CASE("a line of samples says what was expected and why an answer is wrong", "[report]") {
  const auto task = make_text_task("math");
  rl::Experience experience = experience_of(*task);
  const auto answer = [&](size_t i, const std::string& text) {
    rl::Response& r = experience.responses[i];
    r.tokens = task->tokenizer().encode(text);
    r.tokens.push_back(task->end_id());
    r.action_mask.assign(r.tokens.size(), 1);
    r.sampler_log_probs.assign(r.tokens.size(), -1);
    r.score = task->score({.prompt = r.prompt, .puzzle = r.puzzle}, r.tokens);
  };
  answer(0, "-987654321");
  answer(1, "(");
  experience.responses[2].tokens.pop_back();  // without its end a response has no answer
  experience.responses[2].action_mask.pop_back();
  experience.responses[2].sampler_log_probs.pop_back();
  const auto lines = sample_lines(*task, experience, 0, kTraining);
  const Json wrong = Json::parse(lines[0]), unreadable = Json::parse(lines[1]), none = Json::parse(lines[2]);
  CHECK(wrong["expected"] == experience.responses[0].puzzle->gold);
  CHECK(wrong["answer"] == "-987654321");
  CHECK(wrong["verdict"].is_string());
  CHECK(unreadable["answer"] == "(");
  CHECK(testing::contains(unreadable["verdict"].get<std::string>(), "cannot be read"));
  CHECK(none["answer"].is_null());
  CHECK(none["expected"] == experience.responses[2].puzzle->gold);
}

TEST_CASE("what is kept of a step is bounded", "[report]") {
  const auto task = make_text_task("sort");
  rl::Experience experience = experience_of(*task);
  rl::Response r = experience.responses[0];
  r.puzzle = nullptr;
  r.tokens.assign(100000, r.tokens[0]);
  r.action_mask.assign(r.tokens.size(), 1);
  r.sampler_log_probs.assign(r.tokens.size(), -1);
  experience.responses.assign(20, r);
  experience.responses[1] = experience.responses[2];
  const std::vector<std::string> lines = sample_lines(*task, experience, 1, kTraining);
  REQUIRE(lines.size() == kResponsesPerStep);
  for (const std::string& text : lines) {
    const Json line = Json::parse(text);
    CHECK(line["tokens_left_out"] == 100000);
    CHECK(line["bytes_left_out"] == 100000 - kBytesPerText);
    CHECK(!line.contains("tokens"));
    CHECK(text.size() < kBytesPerText + 1000);
  }
}

TEST_CASE("a resumed run repeats no samples health checks or episodes", "[report]") {
  TempDir temp;
  const auto task = make_text_task("sort");
  const rl::Experience experience = experience_of(*task);
  std::string path;
  const auto work = [&](const RunDir& run, int64_t from, int64_t to) {
    for (int64_t step = from; step <= to; ++step) {
      append_samples(run, *task, experience, step, kTraining);
      append_health(run, step, {{"ratio 1", true, ""}});
      append_episode(run, {{{0.0}, {1.0}}, {{1.0}}, {1.0}, true}, "CartPole-v1", true, step);
    }
  };
  const auto contents = [&] {
    std::vector<std::string> all;
    for (const char* name : {"samples.jsonl", "health.jsonl", "episodes.jsonl"}) {
      for (const std::string& line : lines_of(path + "/" + name)) all.push_back(line);
    }
    return all;
  };
  {
    const RunDir run = RunDir::create(temp.path.string(), "x");
    path = run.path();
    work(run, 1, 5);
  }
  const std::vector<std::string> whole = contents();
  CHECK(whole.size() == 5 * 6);
  std::ofstream(path + "/samples.jsonl", std::ios::app) << "{\"step\": 5, \"cut";
  RunDir run = RunDir::open(path);
  run.rewind(4);  // the checkpoint was written after step 3
  work(run, 4, 5);
  CHECK(contents() == whole);
}

TEST_CASE("an episode line has the states of the environment", "[report]") {
  rl::EnvTrainConfig config = rl::env_recipe("CartPole-v1");
  config.total_steps = 512;
  const rl::EnvTrainer trainer(config);
  const rl::EnvEpisode episode = trainer.record(true, 3);
  const std::vector<double> returns = trainer.play(1, true, 3);
  const Json line = Json::parse(episode_line(episode, "CartPole-v1", true, 9));
  CHECK(line["return"] == returns[0]);  // CartPole pays 1 per step
  CHECK(line["length"] == returns[0]);
  CHECK(line["states"].size() == line["actions"].size() + 1);
  CHECK(line["terminated"] == true);
  for (const auto& state : line["states"]) REQUIRE(state.size() == 4);
  // Gymnasium's initial states are within 0.05; an episode ends beyond 2.4 or 12 degrees.
  for (const auto& x : line["states"][0]) CHECK(std::abs(x.get<double>()) <= 0.05);
  const Json last = line["states"].back();
  CHECK((std::abs(last[0].get<double>()) > 2.4 || std::abs(last[2].get<double>()) > 0.2094));
}

TEST_CASE("the adventure describes its map", "[report]") {
  const auto task = make_text_task("adventure");
  for (const Problem& problem : task->held_out(20)) {
    const std::string text = task->described(*problem.puzzle);
    CAPTURE(text);
    // The policy begins in the first room, and sees its exits there.
    const std::string seen = task->text(problem.prompt), room = seen.substr(0, seen.find(' '));
    CHECK(text.starts_with(room + " ("));
    CHECK(contains(text, "; key "));
    CHECK(contains(text, "; goal "));
    CHECK(std::ranges::count(text, '(') == 5);
    CHECK(contains(seen, "key") == contains(text, "; key " + room));
  }
}
