// AdamW with flags of weight decay on CUDA, compared with a call for each run of elements of equal decay.
#include "tests/adamw_runs.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("CUDA adamw with flags has the bits of a call per run of equal decay", "[cuda][adamw]") {
  check_adamw_runs(device(), f32);
  check_adamw_runs(device(), f64);
}
