// Options of pg as lists of fields: the command line, YAML files, presets and what is written to config.yaml.
#include <fstream>

#include "tests/catch.h"
#include "tools/pg/cli/options.h"

using namespace pg;
using namespace pg::tools;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::TempDir;

namespace {

struct Recipe {
  double gamma = 0.5;
  int64_t epochs = 4;
};

struct Config {
  int64_t steps = 100;
  std::string name = "usual", file, kind = "a";
  bool exact = false;
  Recipe recipe;
};

std::vector<Field> fields(Recipe& r) {
  return {{"gamma", &r.gamma, "discount", kShare}, {"epochs", &r.epochs, "passes", whole_from(1)}};
}

std::vector<Field> fields(Config& c) {
  return {{"steps", &c.steps, "steps", whole_from(1)},
          {"name", &c.name, "name"},
          {"kind", one_of(c.kind, {"a", "b"}), "kind"},
          {.name = "file", .value = &c.file, .about = "file", .in_files = false},
          {.name = "exact", .value = &c.exact, .about = "exact", .is_flag = true}};
}

Command command_of(Config& c, std::function<int(Given&)> run) {
  return {"work", "works", fields(c), std::move(run), {}, {{"Recipe", fields(c.recipe)}}};
}

// Runs `pg work ARGUMENTS…`.
int run_work(const Command& command, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), {"pg", "work"});
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return run_command({{"", {command}}}, static_cast<int>(argv.size()), argv.data());
}

}  // namespace

TEST_CASE("options: the command line wins over the file, the file over the default, both over the preset", "[pg]") {
  const TempDir folder;
  std::ofstream(folder.file("c.yaml")) << "steps: 7\nname: \"\"\ngamma: 0.25\nkind: b\n";
  Config c;
  std::string yaml;
  const auto run = [&](Given& given) {
    given.read(c.file);
    c.recipe = {.gamma = 0.75, .epochs = 9};  // the preset
    given.apply(fields(c.recipe));
    yaml = given.yaml(joined({fields(c), fields(c.recipe)}));
    CHECK(given.has("gamma"));
    CHECK_FALSE(given.on_command_line("gamma"));
    CHECK_FALSE(given.has("epochs"));
    return 3;
  };
  CHECK(run_work(command_of(c, run), {"--steps", "020", "--exact", "--file", folder.file("c.yaml")}) == 3);
  CHECK(yaml == "# pg work\nsteps: 20\nname: \"\"\nkind: b\nexact: true\ngamma: 0.25\nepochs: 9\n");
  // What was written is read again.
  Config again;
  std::ofstream(folder.file("again.yaml")) << yaml;
  const auto reread = [&](Given& given) {
    given.read(folder.file("again.yaml"));
    given.apply(fields(again.recipe));
    CHECK(given.yaml(joined({fields(again), fields(again.recipe)})) == yaml);
    return 0;
  };
  CHECK(run_work(command_of(again, reread), {}) == 0);
}

TEST_CASE("options: what is refused is refused in one sentence that names the option", "[pg]") {
  Config c;
  const auto refused = [&](const std::vector<std::string>& arguments) {
    return error_of([&] { run_work(command_of(c, [](Given&) { return 0; }), arguments); });
  };
  CHECK(refused({"--steps", "0"}) == "--steps: expected a whole number of at least 1, got 0");
  CHECK(refused({"--gamma", "2"}) == "--gamma: expected a number from 0 to 1, got 2");
  CHECK(refused({"--kind", "c"}) == "--kind: expected one of a, b, got c");
  CHECK(refused({"--exact=maybe"}) == "--exact: expected true or false, got maybe");
  CHECK(contains(refused({"--stepz", "1"}), "pg work has no option --stepz (did you mean steps?)"));
  CHECK(contains(refused({"more"}), "pg work expects nothing like 'more'"));
  const TempDir folder;
  const auto file = [&](const std::string& text) {
    std::ofstream(folder.file("c.yaml")) << text;
    return error_of([&] {
      run_work(command_of(c,
                          [&](Given& given) {
                            given.read(folder.file("c.yaml"));
                            return 0;
                          }),
               {});
    });
  };
  CHECK(contains(file("steps: 3\ngamma: 2\n"), "line 2: --gamma: expected a number from 0 to 1, got 2"));
  CHECK(contains(file("file: x\n"), "line 1: unknown option 'file' for `pg work`"));
  CHECK(contains(file("gamme: 1\n"), "(did you mean gamma?); known are: steps name kind exact gamma epochs"));
  CHECK(contains(file("steps: 3\nsteps: 4\n"), "line 2: 'steps' is given a second time, after line 1"));
}

TEST_CASE("options: a config.yaml that is no list of options has no values", "[pg]") {
  const TempDir folder;
  for (const char* text : {"- a\n- b\n", "a", "", "a: [", "--- 1\n--- 2\n", ", n", "a: \xff"}) {
    std::ofstream(folder.file("c.yaml")) << text;
    INFO(text);
    CHECK(config_values(folder.file("c.yaml")).empty());
  }
  std::ofstream(folder.file("c.yaml")) << "a: 1\nb: [2]\nc: x\n";
  CHECK(config_values(folder.file("c.yaml")) == std::map<std::string, std::string>{{"a", "1"}, {"c", "x"}});
}
