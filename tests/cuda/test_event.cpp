// Events of a device, which measure the time of its work.
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("events of a device complete in order and the device has a name", "[cuda]") {
  if (backend(Device::Kind::cuda).device_count() == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  const Device device{Device::Kind::cuda, 0};
  const Tensor x = Tensor::ones({4096}, f32, device);
  const auto before = backend(device).record_event();
  x.fill(2);
  const auto after = backend(device).record_event();
  CHECK(before->seconds_until(*after) >= 0);
  CHECK(before->seconds_until(*after) < 60);
  CHECK(!backend(device).device_info(0).name.empty());
  CHECK(backend(device).device_info(0).memory > 0);
}
