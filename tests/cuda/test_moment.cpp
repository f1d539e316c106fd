// Times of a device's work.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("moments of a device come in order and the device has a name", "[cuda]") {
  if (cuda::device_count() == 0) SKIP_TEST("cuda: " + cuda::why_none());
  const Device device{Device::Kind::cuda, 0};
  const Tensor x = Tensor::ones({4096}, f32, device);
  const cuda::Moment before;
  x.fill(2);
  const cuda::Moment after;
  CHECK(seconds_between(before, after) >= 0);
  CHECK(seconds_between(before, after) < 60);
  CHECK(!cuda::device_info(0).name.empty());
  CHECK(cuda::device_info(0).memory > 0);
}
