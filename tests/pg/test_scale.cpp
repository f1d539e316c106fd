// The model of pg scale: numbers worked out by hand, and how times depend on what is asked for.
#include "tests/catch.h"
#include "tools/pg/scale_model.h"

using namespace pg;
using namespace pg::tools;

namespace {

Plan plan_of(double parameters, int64_t gpus, int zero = 0) {
  Plan plan;
  plan.model = ScaledModel::of(parameters);
  plan.gpus = gpus;
  plan.zero = zero;
  return plan;
}

}  // namespace

TEST_CASE("scale: collectives go through the nodes and then between them", "[pg]") {
  // 3.1 GB over 32 nodes of 8: 7/8 of it inside at 370 GB/s, 31/32 of an eighth between at 48 GB/s, each twice.
  Cluster cluster;
  cluster.inside.alpha = cluster.between.alpha = 0;
  const double inside = 7.0 / 8 * 3.1e9 / 370e9, between = 31.0 / 32 * (3.1e9 / 8) / 48e9;
  CHECK(cluster.all_reduce_seconds(3.1e9, 256) == Approx(2 * (inside + between)).epsilon(1e-12));
  CHECK(cluster.reduce_scatter_seconds(3.1e9, 8) == Approx(inside).epsilon(1e-12));
  CHECK(cluster.all_reduce_seconds(3.1e9, 1) == 0);
  cluster.inside.alpha = 1;
  cluster.between.alpha = 100;
  CHECK(cluster.reduce_scatter_seconds(0, 256) == Approx(7 + 3100));
}

TEST_CASE("scale: known models have their layers and width", "[pg]") {
  for (const auto& [parameters, layers, width] : {std::tuple(12.0 * 12 * 768 * 768 + 50257 * 768, 12.0, 768.0),
                                                  std::tuple(12.0 * 48 * 1600 * 1600 + 50257 * 1600, 48.0, 1600.0)}) {
    const ScaledModel model = ScaledModel::of(parameters);
    CHECK(model.layers == Approx(layers).epsilon(1e-6));
    CHECK(model.width == Approx(width).epsilon(1e-6));
  }
}

TEST_CASE("scale: one GPU only computes and updates", "[pg]") {
  Cluster cluster;
  const StepModel step = step_model(plan_of(124e6, 1), cluster);
  CHECK(step.sending == 0);
  CHECK(step.compute == Approx(6 * 124e6 * 8 * 1024 / 400e12));
  CHECK(step.update == Approx(30 * 124e6 / 3e12));
  CHECK(step.tokens_per_second == Approx(8192 / (step.compute + step.update)));
  CHECK(step.state == Approx(18 * 124e6));
  CHECK(step.bound == "compute");
}

TEST_CASE("scale: stages trade memory for what is sent", "[pg]") {
  Cluster cluster;
  cluster.inside.alpha = cluster.between.alpha = 0;
  std::vector<StepModel> stages;
  for (int zero = 0; zero <= 3; ++zero) stages.push_back(step_model(plan_of(7e9, 64, zero), cluster));
  // f32 gradients once and bf16 weights once, against gradients twice: 6 bytes to 8; stage 3 gathers twice: 8.
  CHECK(stages[1].sending / stages[0].sending == Approx(6.0 / 8));
  CHECK(stages[2].sending == Approx(stages[1].sending));
  CHECK(stages[3].sending == Approx(stages[0].sending));
  for (int zero = 1; zero <= 3; ++zero) CHECK(stages[zero].state < stages[zero - 1].state);
  CHECK(stages[0].bound == "memory");
  CHECK(stages[3].state == Approx(18.0 / 64 * 7e9));

  Plan accumulating = plan_of(7e9, 64, 2);
  accumulating.accumulate = 4;
  const StepModel four = step_model(accumulating, cluster);
  CHECK(four.sending > 2 * stages[2].sending);  // every micro-batch is reduced
  accumulating.zero = 1;
  CHECK(step_model(accumulating, cluster).sending == Approx(stages[1].sending));
}

TEST_CASE("scale: overlap hides what fits beside backward but not the embedding", "[pg]") {
  Cluster cluster;
  Plan plan = plan_of(1.5e9, 8);
  const StepModel hidden = step_model(plan, cluster);
  plan.overlap = false;
  const StepModel shown = step_model(plan, cluster);
  CHECK(shown.exposed == Approx(shown.sending));
  CHECK(hidden.sending == shown.sending);
  const double embedding = plan.model.embedding_share() * 4 * 1.5e9;
  CHECK(hidden.exposed == Approx(cluster.all_reduce_seconds(embedding, 8)));
  cluster.between.beta = 1e9;  // a slow network
  plan.gpus = 64;
  plan.overlap = true;
  const StepModel slow = step_model(plan, cluster);
  CHECK(slow.bound == "network");
  double before = 1;
  for (int64_t gpus = 8; gpus <= 1024; gpus *= 2) {
    plan.gpus = gpus;
    const double efficiency = step_model(plan, cluster).efficiency();
    CHECK(efficiency <= before);
    before = efficiency;
  }
}

TEST_CASE("scale: numbers of parameters and GPUs are read exactly or refused", "[pg]") {
  CHECK(parse_parameters("124M") == 124e6);
  CHECK(parse_parameters("1.5B") == 1.5e9);
  CHECK(parse_parameters("2000000") == 2e6);
  for (const char* wrong : {"", "M", "124m", "1.5", "-124M", "nan", "inf", "1e99", "124M ", " 124M", "0x10M"}) {
    INFO(wrong);
    CHECK(testing::contains(testing::error_of([&] { parse_parameters(wrong); }), "numbers of parameters"));
  }
  CHECK(parse_counts("8..64") == std::vector<int64_t>{8, 16, 32, 64});
  CHECK(parse_counts("1,3,6..20") == std::vector<int64_t>{1, 3, 6, 12});
  for (const char* wrong : {"", "0", "8..", "..8", "8...64", "a", "8,", "-1", "99999999999999"}) {
    INFO(wrong);
    CHECK(testing::contains(testing::error_of([&] { parse_counts(wrong); }), "numbers of GPUs"));
  }
  CHECK(testing::contains(testing::error_of([] { parse_counts("64..8"); }), "is empty"));
}
