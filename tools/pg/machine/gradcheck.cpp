// pg gradcheck: compares every backward with numerical gradients and prints a table for learners.
#include "autograd/check/gradcheck.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tests/op_samples/op_samples.h"
#include "tools/pg/cli/commands.h"

namespace pg::tools {

namespace {

struct Line {
  std::string name, label;
  int samples = 0;
  double error = 0;  // the largest relative error
  std::vector<std::string> messages = {};
};

GradcheckResult check_sample(const OpSample& sample) {
  Generator generator(17);  // not the seed of the cotangent: equal streams would make inputs and cotangent equal
  GradcheckOptions options;
  options.op = name_of(sample.op);
  options.label = sample.label;
  options.constant = sample.constant;
  return gradcheck(sample.call, sample.inputs(generator, f64), options);
}

int print_json(const std::vector<Line>& lines, bool by_op) {
  Json ops = Json::array();
  int wrong = 0;
  for (const Line& line : lines) {
    Json one = {{"op", line.name}, {"samples", line.samples}, {"error", line.error}};
    if (!by_op) one["sample"] = line.label;
    one["wrong"] = line.messages;
    wrong += static_cast<int>(line.messages.size());
    ops.push_back(std::move(one));
  }
  const Json all = {{"ops", ops}, {"wrong", wrong}};
  fmt::print("{}\n", all.dump(-1, Json::Utf8::replace));
  return wrong == 0 ? 0 : 1;
}

// Checks every backward or, if `op` is given, that of one op sample by sample.
int run_gradcheck(const std::string& op, bool json) {
  std::vector<Line> lines;  // one per op, or one per sample of the requested op
  for (const OpSample& sample : op_samples()) {
    const std::string name = name_of(sample.op);
    if (sample.large || (!op.empty() && name != op)) continue;
    if (!op.empty() || lines.empty() || lines.back().name != name) lines.push_back({name, sample.label});
    const GradcheckResult result = check_sample(sample);
    Line& line = lines.back();
    ++line.samples;
    line.error = std::max(line.error, result.error);
    if (!result.ok) line.messages.push_back(result.message);
  }
  if (lines.empty()) {
    std::vector<std::string> known;
    for (int i = 1; i < static_cast<int>(Op::count); ++i) known.emplace_back(name_of(static_cast<Op>(i)));
    fail("gradcheck: no samples of an op '{}'{}; known are: {}", op, did_you_mean(op, known), fmt::join(known, " "));
  }

  if (json) return print_json(lines, op.empty());
  fmt::print("Gradients of the tape against central differences in f64; a relative error up to 1e-6 is right.\n\n");
  fmt::print("{:<16} {:<32} {:>10}\n", "op", op.empty() ? "samples" : "sample", "error");
  int wrong = 0, samples = 0;
  for (const Line& line : lines) {
    const std::string what = op.empty() ? std::to_string(line.samples) : line.label;
    fmt::print("{:<16} {:<32} {:>10.1e}  {}\n", line.name, what, line.error, line.messages.empty() ? "ok" : "WRONG");
    for (const std::string& message : line.messages) fmt::print("    {}\n", message);
    wrong += static_cast<int>(line.messages.size());
    samples += line.samples;
  }
  fmt::print("\n{} samples, {} wrong\n", samples, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

Command gradcheck_command() {
  struct Options {
    std::string op;
    bool json = false;
  };
  const auto o = std::make_shared<Options>();
  return {.name = "gradcheck",
          .about = "is every backward right? gradients against central differences",
          .fields = {json_field(o->json)},
          .run = [o](Given&) { return run_gradcheck(o->op, o->json); },
          .arguments = {{"op", &o->op, "one operation, sample by sample; default: all", /*required=*/false}}};
}

}  // namespace pg::tools
