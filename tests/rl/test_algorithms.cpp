// The table of algorithms: every field has a text, every row of every axis a formula.
#include <string>
#include <variant>
#include <vector>

#include "rl/methods/algorithm.h"
#include "tensor/base/fields.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;
using namespace pg::rl;

TEST_CASE("algorithms: every field has a text and comes back from it", "[rl]") {
  for (const Algorithm& row : algorithms()) {
    check_algorithm(row);
    Algorithm a = row, copy;
    copy.name = a.name;
    const std::vector<Field> from = fields(a), to = fields(copy);
    for (const Field& field : from) find_field(to, a.name, field.name).set(field.text());
    for (size_t i = 0; i < from.size(); ++i) {
      INFO(a.name << " " << from[i].name);
      CHECK(to[i].text() == from[i].text());
    }
    CHECK(explain(copy, {}) == explain(a, {}).replace(a.name.size() + 3, a.source.size(), ""));
  }
  Algorithm a;
  for (const Field& field : fields(a)) {
    if (std::holds_alternative<std::string*>(field.value)) continue;
    INFO(field.name);
    const std::string before = field.text(), error = error_of([&] { field.set("nonsense"); });
    CHECK(error.find(field.name) == 0);
    CHECK(error.find("nonsense") != std::string::npos);
    CHECK(field.text() == before);
  }
}

TEST_CASE("algorithms: every row of every axis has a formula that can be printed", "[rl]") {
  Algorithm a;
  const auto print_rows = [&](auto& choice, const auto& rows) {
    for (const auto& row : rows) {
      INFO(row.axis << " " << row.name);
      const std::string text = formula_text(row.formula, a);
      CHECK(!text.empty());
      CHECK(text.find_first_of("{}") == std::string::npos);
      choice = row;
      CHECK(choice.is(row.name));
    }
    const std::string error = error_of([&] { choice = "nonsense"; });
    CHECK(error.find(std::string(rows[0].axis) + ": expected " + rows[0].name) == 0);
  };
  print_rows(a.credit, Credit::table());
  print_rows(a.baseline, Baseline::table());
  print_rows(a.ratio, Ratio::table());
  print_rows(a.surrogate, Surrogate::table());
  print_rows(a.weight, Weight::table());
  print_rows(a.tokens, TokenSelection::table());
  print_rows(a.aggregation, Aggregation::table());
  print_rows(a.kl, KlPlace::table());
  print_rows(a.kl_estimator, KlEstimator::table());
  print_rows(a.kl_control.schedule, KlSchedule::table());
  print_rows(a.reference, ReferenceKind::table());

  const std::string text =
      explain(algorithm("grpo"), {.prompts = 16, .samples = 4, .mini_batches = 2, .micro_batch = 8});
  CHECK(text.find("16 prompts x 4 samples = 64 responses") != std::string::npos);
  CHECK(text.find("2 optimizer steps, each over 32 responses") != std::string::npos);
  CHECK(text.find("4 micro-batches of at most 8") != std::string::npos);
}
