// Ceilings and timing of CUDA devices.
#include <algorithm>

#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

Timing time_cold(Device device, const std::function<void()>& f, int repeat) {
  const auto bytes = std::max<size_t>(4 * backend(device).device_info(device.index).cache, size_t{256} << 20);
  const Tensor other = Tensor::empty({static_cast<int64_t>(bytes / 4)}, f32, device);
  f();  // selects algorithms, loads kernels, fills the memory pool
  f();
  std::vector<std::unique_ptr<DeviceEvent>> begin, end;
  for (int i = 0; i < repeat; ++i) {
    other.fill(i);
    begin.push_back(backend(device).record_event());
    f();
    end.push_back(backend(device).record_event());
  }
  std::vector<double> samples;
  for (size_t i = 0; i < begin.size(); ++i) samples.push_back(begin[i]->seconds_until(*end[i]));
  return timing_of(samples);
}

Timing time_steps(Device device, const std::function<void()>& f, int repeat) {
  if (device.on_host()) return time_of(f, repeat);
  f();
  f();
  std::vector<std::unique_ptr<DeviceEvent>> events;
  events.push_back(backend(device).record_event());
  for (int i = 0; i < repeat; ++i) {
    f();
    events.push_back(backend(device).record_event());
  }
  std::vector<double> samples;
  for (size_t i = 1; i < events.size(); ++i) samples.push_back(events[i - 1]->seconds_until(*events[i]));
  return timing_of(samples);
}

Ceilings measure_cuda_ceilings(Device device, DType dtype, int repeat) {
  constexpr int64_t n = 8192;
  Generator g(1);
  const Tensor a = Tensor::normal({n, n}, 0, 1, g, dtype, device), b = Tensor::normal({n, n}, 0, 1, g, dtype, device);
  const Tensor c = Tensor::empty({n, n}, dtype, device);
  Ceilings result;
  result.flops = 2.0 * n * n * n /
                 time_cold(
                     device, [&] { kernels(device).matmul(c, a, b, {}); }, repeat)
                     .median;

  constexpr size_t bytes = size_t{2} << 30;
  const Tensor from = Tensor::ones({bytes / 4}, f32, device), to = Tensor::empty({bytes / 4}, f32, device);
  const auto copy = [&] { backend(device).copy(to.view().data, device, from.view().data, device, bytes); };
  result.bytes = 2.0 * bytes / time_cold(device, copy, repeat).median;
  return result;
}

}  // namespace pg::tools
