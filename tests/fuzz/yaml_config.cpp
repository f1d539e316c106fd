// Fuzz target: the YAML file of --config. What is read is written again, and read again as the same values.
// sources: tools/pg/run/given.cpp tasks/data/text_data.cpp tensor/base/fields.cpp tensor/base/text.cpp
// archives: pg_parts pg_rl_text pg_rl pg_models pg_files pg_nn pg_check pg_autograd pg_comm pg_tensor
// archives: pg_tasks pg_bpe pg_text_tasks pg_text pg_act pg_base_files pg_base
// libraries: yaml-cpp pcre2-8 utf8proc gmpxx gmp
// options: -max_len=2000 -dict=tests/fuzz/yaml.dict
// seed: # pg train\nsteps: 7\nlr: 1e-3\nname: a b\nkind: two\nbias: true\nclip: ""\n
// seed: {steps: 7, lr: .5, name: "x\\ny", kind: one}
// seed: steps: &a 3\nseed: *a\nname: |\n  two\n  lines\n
// seed: ---\nsteps: 5\n...\n---\nsteps: 6\n
// seed: ? [a, b]\n: {c: d}\n<<: *x\n!!str name: !!binary aGk=\n
#include "tests/fuzz/driver/files.h"
#include "tools/pg/cli/options.h"

using namespace pg;
using namespace pg::tools;

namespace {

struct Options {
  int64_t steps = 1;
  uint64_t seed = 1;
  double lr = 0.1;
  bool bias = false;
  std::string name, kind = "one", clip;
};

Command command_of(Options& o) {
  return {.name = "train",
          .about = "",
          .fields = {{"steps", &o.steps, "", whole_from(0, 1000)},
                     {"seed", &o.seed, ""},
                     {"lr", &o.lr, "", kPositive},
                     {"bias", &o.bias, ""},
                     {"name", &o.name, ""},
                     {"kind", one_of(o.kind, {"one", "two"}), ""}},
          .run = {},
          .changes = {{"of a preset", {{"clip", &o.clip, ""}}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = fuzz::file("x.yaml", fuzz::text_of(data, size));
  config_values(path);
  fuzz::no_worse_than_error([&] {
    Options o, again;
    const Command command = command_of(o);
    Given given(command, {});
    given.read(path);
    fuzz::expect(o.steps >= 0 && o.steps <= 1000 && o.lr > 0 && (o.kind == "one" || o.kind == "two"));
    const std::string yaml = given.yaml(command.fields);
    const Command same = command_of(again);
    Given(same, {}).read(fuzz::file("y.yaml", yaml));
    fuzz::expect(again.steps == o.steps && again.seed == o.seed && again.lr == o.lr && again.bias == o.bias &&
                 again.name == o.name && again.kind == o.kind);
    fuzz::expect(config_values(fuzz::path_of("y.yaml")).at("name") == o.name);
  });
  return 0;
}
