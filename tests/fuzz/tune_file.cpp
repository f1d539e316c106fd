// Fuzz target: the file of pg tune. Settings that are read are allowed ones, and their text is read as the same.
// sources: tensor/cpu/gemm/tuning.cpp tensor/base/atomic_file.cpp tensor/base/text.cpp
// archives: pg_tensor pg_base
// options: -max_len=600 -close_fd_mask=2 -dict=tests/fuzz/tune_file.dict
// seed: policygrad cpu products 1: p\ntile_rows 12\nblock_depth 2304\n
#include <algorithm>

#include "tensor/cpu/gemm/tuning.h"
#include "tests/fuzz/driver/files.h"

using namespace pg::cpu;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const GemmTuning before = gemm_tuning_of_caches(32 << 10, 1 << 20);
  GemmTuning tuning = before;
  // The title that a file must have, so that the lines below it are read.
  const std::string whole = gemm_tuning_text(before, "p");
  const std::string title = whole.substr(0, whole.find('\n') + 1);
  const std::string input(fuzz::text_of(data, size));
  for (const std::string& text : {input, title + input}) {
    if (!read_gemm_tuning(fuzz::file("tune.txt", text), "p", tuning)) {
      fuzz::expect(tuning == before);
      continue;
    }
    for (const GemmChoice& choice : gemm_choices()) {
      const int64_t value = tuning.*choice.value;
      fuzz::expect(value == before.*choice.value || std::count(choice.values.begin(), choice.values.end(), value) > 0);
    }
    GemmTuning again = before;
    fuzz::expect(read_gemm_tuning(fuzz::file("again.txt", gemm_tuning_text(tuning, "p")), "p", again));
    fuzz::expect(again == tuning);
    tuning = before;
  }
  return 0;
}
