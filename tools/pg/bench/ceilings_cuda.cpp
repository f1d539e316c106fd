// Ceilings and timing of CUDA devices.
#include <algorithm>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/tensor.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

Timing time_cold(Device device, const std::function<void()>& f, int repeat) {
  const auto bytes = std::max<size_t>(4 * cuda::device_info(device.index).cache, size_t{256} << 20);
  const Tensor other = Tensor::empty({static_cast<int64_t>(bytes / 4)}, f32, device);
  f();  // chooses algorithms, loads kernels, fills the memory pool
  f();
  std::vector<cuda::Moment> begin, end;
  for (int i = 0; i < repeat; ++i) {
    other.fill(i);
    begin.emplace_back();
    f();
    end.emplace_back();
  }
  std::vector<double> samples;
  for (size_t i = 0; i < begin.size(); ++i) samples.push_back(seconds_between(begin[i], end[i]));
  return timing_of(samples);
}

Timing time_steps(Device device, const std::function<void()>& f, int repeat) {
  if (device.kind == Device::Kind::cpu) return time_of(f, repeat);
  f();
  f();
  std::vector<cuda::Moment> moments(1);
  for (int i = 0; i < repeat; ++i) {
    f();
    moments.emplace_back();
  }
  std::vector<double> samples;
  for (size_t i = 1; i < moments.size(); ++i) samples.push_back(seconds_between(moments[i - 1], moments[i]));
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
  const auto copy = [&] { cuda::copy(to.view().data, device, from.view().data, device, bytes); };
  result.bytes = 2.0 * bytes / time_cold(device, copy, repeat).median;
  return result;
}

}  // namespace pg::tools
