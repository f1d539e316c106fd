// Checkpoints that earlier commits of this repository wrote (docs/GOLDENS.md, "Checkpoints of older versions") open,
// and their models compute what they did.
#include <algorithm>
#include <cmath>

#include "autograd/tape.h"
#include "tasks/data/text_data.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"

using namespace pg;
using namespace pg::tools;

namespace {

const std::string kFolder = "tests/goldens/checkpoints/";

// The largest difference between the model's logits for the last token and those of expected.json, relative to the
// largest of these.
double logits_error(const Transformer& model, const Json& expected) {
  const auto ids = expected.at("ids").get<std::vector<int32_t>>();
  const auto want = expected.at("logits").get<std::vector<double>>();
  const NoGrad no_grad;
  const std::vector<double> all = model(Tensor::from(ids, {1, std::ssize(ids)})).to_vector();
  double difference = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference = std::max(difference, std::abs(all[all.size() - want.size() + i] - want[i]));
    largest = std::max(largest, std::abs(want[i]));
  }
  return difference / largest;
}

}  // namespace

TEST_CASE("checkpoints of older versions open and compute what they did", "[checkpoint][run]") {
  const Json expected = Json::parse(read_file(kFolder + "expected.json"));
  struct Row {
    const char *commit, *kind, *text;
    int64_t step;
  };
  for (const Row& row :
       {Row{"c852392", "train", "a bc", 7}, Row{"562e0ec", "rl", "31=", 2}, Row{"aa698fe", "train", "a bc", 6}}) {
    INFO(row.commit);
    const RunModel m = load_run_model(kFolder + row.commit, Device{});
    CHECK(m.kind == row.kind);
    CHECK(m.state.step == row.step);
    CHECK(m.tokenizer->decode(m.tokenizer->encode(row.text)) == row.text);
    CHECK(logits_error(*m.model, expected.at(row.commit)) <= 1e-5);

    // The state of the optimizer too, from which a run goes on.
    const Checkpoint checkpoint = load_checkpoint(checkpoint_path(kFolder + row.commit));
    ParamSlab slab(*m.model);
    AdamW optimizer(slab, {});
    checkpoint.restore(optimizer);
    CHECK(optimizer.steps() == row.step);
  }
  Transformer reference = Transformer::zeros(load_checkpoint(checkpoint_path(kFolder + "562e0ec")).model_config());
  load_checkpoint(checkpoint_path(kFolder + "562e0ec")).restore(reference, "reference");
}
