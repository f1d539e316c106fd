// pg tune: measures which settings of the matrix product are fastest on this processor, and keeps them in a file.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/machine/tune_search.h"

namespace pg::tools {

namespace {

struct TuneOptions {
  std::string only;
  bool dry_run = false;
  int threads = 0, repeat = 7;
};

std::vector<std::string> step_names() {
  std::vector<std::string> names;
  for (const TuningStep& step : tuning_steps()) names.push_back(step.name);
  return names;
}

std::vector<cpu::GemmChoice> choices_of(const TuningStep& step) {
  std::vector<cpu::GemmChoice> choices = cpu::gemm_choices();
  std::erase_if(choices, [&](const cpu::GemmChoice& one) {
    return std::count(step.choices.begin(), step.choices.end(), one.name) == 0;
  });
  return choices;
}
// "prefetch_l1 12288, prefetch_between 0"
std::string text_of(const TuningStep& step, const cpu::GemmTuning& tuning) {
  std::string text;
  for (const cpu::GemmChoice& one : choices_of(step))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, tuning.*one.value);
  return text;
}

void print(const StepResult& r) {
  fmt::print("\n{}\n", r.step.name);
  for (const cpu::GemmChoice& one : choices_of(r.step)) fmt::print("  {}: {}\n", one.name, one.about);
  fmt::print("  {:<44} 1.000\n", text_of(r.step, r.before));
  for (size_t i = 0; i < r.candidates.size(); ++i) {
    fmt::print("  {:<44} {:.3f}{}\n", text_of(r.step, r.candidates[i]), r.shares[i],
               r.candidates[i] == r.after ? fmt::format(", again {:.3f}: taken", r.again) : "");
  }
  if (r.after == r.before && r.again > 0) fmt::print("  the best needed {:.3f} the second time: not taken\n", r.again);
  std::fflush(stdout);
}

// The path of the file. Fails before anything is measured if its folder cannot be written.
std::string path_to_write() {
  const std::string path = cpu::gemm_tuning_path();
  check(!path.empty(), "tune: there is no folder for the file; set POLICYGRAD_CACHE to one, or use --dry-run");
  const std::string folder = std::filesystem::path(path).parent_path();
  make_folder(folder);
  check(access(folder.c_str(), W_OK) == 0,
        "tune: cannot write in {}; set POLICYGRAD_CACHE to a folder that can be written, or use --dry-run", folder);
  return path;
}

int tune(const TuneOptions& o) {
#ifndef NDEBUG
  check(o.dry_run, "tune: this build is for the debugger, and what is fastest in it says nothing; use --dry-run");
#endif
  start_threads(o.threads);
  const std::string path = o.dry_run ? "" : path_to_write();
  std::vector<TuningStep> steps = tuning_steps();
  if (!o.only.empty()) std::erase_if(steps, [&](const TuningStep& step) { return step.name != o.only; });
  // One step alone leaves the other choices as they are.
  const cpu::GemmTuning from =
      o.only.empty() ? cpu::gemm_tuning_of_caches(cpu::l1_bytes(), cpu::l2_bytes()) : cpu::gemm_tuning();
  fmt::print("{}; threads: {}\nTime of GPT-2's matrix products, f32 and bf16, beside the first line of each step.\n",
             cpu::processor_name(), num_threads());
  const cpu::GemmTuning found = search_tuning(steps, from, compare_by_time(o.repeat), print);
  if (o.dry_run) return 0;
  write_file_atomically(path, cpu::gemm_tuning_text(found, cpu::processor_name()));
  fmt::print("\n{}\nkept in {}\n", found == from ? "no other setting is faster" : "faster settings were found", path);
  return 0;
}

}  // namespace

Command tune_command() {
  const auto o = std::make_shared<TuneOptions>();
  return {.name = "tune",
          .about = "which settings of the matrix product are fastest on this processor; keeps them in a file",
          .fields = {{"only", one_of(o->only, step_names()), "one step of the search"},
                     flag("dry-run", o->dry_run, "measure, and keep nothing"),
                     threads_field(o->threads),
                     {"repeat", &o->repeat, "rounds; a result is a median over them", whole_from(3, 1000)}},
          .run = [o](Given&) { return tune(*o); }};
}

}  // namespace pg::tools
