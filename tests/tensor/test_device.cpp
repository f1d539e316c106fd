// Names of devices, and the error message for a missing device.
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;

TEST_CASE("device names are read and written", "[device]") {
  CHECK(parse_device("cpu") == Device{});
  CHECK(to_string(Device{}) == "cpu");
  CHECK(parse_device("plain") == Device{Device::Kind::plain});
  CHECK(to_string(Device{Device::Kind::plain}) == "plain");
  CHECK(to_string(Device{Device::Kind::cuda, 3}) == "cuda:3");
}

TEST_CASE("a device that does not exist is an error", "[device]") {
  for (const char* text : {"cuda", "cuda:200"}) {
    const std::string message = error_of([&] { parse_device(text); });
    if (text == std::string("cuda") && backend(Device::Kind::cuda).device_count() > 0) {
      CHECK(message.empty());
      continue;
    }
    CHECK(message.find(text) != std::string::npos);
    CHECK(message.find(backend(Device::Kind::cuda).device_count() == 0 ? backend(Device::Kind::cuda).why_none()
                                                                       : "the last one here") != std::string::npos);
  }
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:999", "cpu:0"}) {
    CHECK(error_of([&] { parse_device(text); }).find("expected \"cpu\"") != std::string::npos);
  }
  if (backend(Device::Kind::cuda).device_count() > 0) return;
  CHECK(error_of([] { Tensor::zeros({2}).to(Device{Device::Kind::cuda, 0}); }).find("no CUDA") != std::string::npos);
}
