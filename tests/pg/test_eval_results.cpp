// Results of an evaluation as lines, and the folder that holds them.
#include <fstream>

#include "tasks/data/text_data.h"
#include "tests/catch.h"
#include "tools/pg/eval/eval_results.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::tools;

namespace {

rl::EvalResponse response(int64_t problem, int64_t sample) {
  rl::EvalResponse r;
  r.problem = problem;
  r.sample = sample;
  r.question = "1+2";
  r.response = "3 \"\n\\";
  r.answer = "3";
  r.expected = "3";
  r.reward = 1.0 / 3;
  r.parts = {{"right", 0.1}, {"a", 1.0 / 3 - 0.1}};
  r.solved = true;
  r.length = 4;
  r.subject = "+";
  r.level = 2;
  return r;
}

Json settings() { return {{"task", "sort"}, {"samples", 2}, {"models", {{{"run", "a"}, {"weights", "1"}}}}}; }

}  // namespace

TEST_CASE("a line of results has the response to the bit", "[eval]") {
  const rl::EvalResponse r = response(5, 1);
  const std::string line = eval_line(3, r);
  CHECK(line.find('\n') == std::string::npos);
  const rl::EvalResponse back = eval_response(line, 3, "here");
  CHECK(back.problem == 5);
  CHECK(back.sample == 1);
  CHECK(back.response == r.response);
  CHECK(back.answer == r.answer);
  CHECK(back.reward == r.reward);
  CHECK(back.parts == r.parts);  // in their order
  CHECK(back.solved);
  CHECK_FALSE(back.finished);
  CHECK(back.subject == "+");
  CHECK(back.level == 2);
  CHECK(eval_line(3, back) == line);
  rl::EvalResponse none = r;
  none.answer = std::nullopt;
  none.response = "half \xe2\x82";
  const rl::EvalResponse read = eval_response(eval_line(0, none), 0, "here");
  CHECK_FALSE(read.answer);
  CHECK(read.response == "half \xef\xbf\xbd");
  CHECK(contains(error_of([&] { eval_response(line, 2, "here"); }), "here: expected model 2, got 3"));
  CHECK(contains(error_of([&] { eval_response("[]", 2, "here"); }), "here: expected a JSON object"));
  CHECK(contains(error_of([&] { eval_response(R"({"model":0,"problem":"x"})", 0, "here"); }), "here: it is no result"));
  CHECK(contains(error_of([&] { eval_response(std::string(100000, '['), 0, "here"); }), "here"));
}

TEST_CASE("an evaluation folder has one holder at a time", "[eval]") {
  const TempDir dir;
  const std::string path = dir.file("results");
  {
    const EvalFolder folder(path, settings());
    CHECK(contains(error_of([&] { EvalFolder(path, settings()); }), "another process is evaluating into it"));
  }
  std::ofstream(path + "/summary.json.7-0.tmp") << "cut";
  EvalFolder(path, settings());
  CHECK_FALSE(std::filesystem::exists(path + "/summary.json.7-0.tmp"));
}

TEST_CASE("an evaluation folder keeps whole problems", "[eval]") {
  const TempDir dir;
  const std::string path = dir.file("results"), lines = path + "/results.jsonl";
  EvalFolder(path, settings()).append({eval_line(0, response(0, 0)), eval_line(0, response(0, 1))});
  const std::string whole = read_file(lines);
  for (const std::string& tail :
       {std::string(), std::string("{"), eval_line(0, response(1, 0)) + "\n",
        eval_line(0, response(1, 0)) + "\n" + eval_line(0, response(1, 1)), std::string(50, '\0')}) {
    std::ofstream(lines, std::ios::binary) << whole << tail;
    EvalFolder folder(path, settings());
    CHECK(folder.read(1, 3, 2).size() == 2);
    CHECK(read_file(lines) == whole);
    folder.append({eval_line(0, response(1, 0)), eval_line(0, response(1, 1))});
    CHECK(read_file(lines).starts_with(whole));
    CHECK(folder.read(1, 3, 2).size() == 4);
    CHECK(contains(error_of([&] { folder.read(1, 1, 2); }), "expected 2 lines, it has more"));
    CHECK(contains(error_of([&] { folder.read(1, 3, 4); }), "expected problem 0, sample 2, got 1, 0"));
  }
  Json other = settings();
  other["samples"] = 3;
  CHECK(contains(error_of([&] { EvalFolder(path, other); }), "it has samples 2, this command 3"));
  other = settings();
  other["models"][0]["run"] = "moved";
  EvalFolder(path, other);
  other["models"][0]["weights"] = "2";
  CHECK(contains(error_of([&] { EvalFolder(path, other); }), "other weights than those of moved"));
}

TEST_CASE("equal weights have equal hashes", "[eval]") {
  const auto model = [](uint64_t seed, int64_t heads) {
    Generator g(seed);
    return Transformer({.vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = heads, .n_embd = 8}, g);
  };
  Transformer a = model(1, 2), same = model(1, 2), other = model(2, 2), heads = model(1, 1);
  CHECK(weights_hash(a) == weights_hash(same));
  CHECK(weights_hash(a) != weights_hash(other));
  CHECK(weights_hash(a) != weights_hash(heads));  // the same weights in another model
}
