// The host code of elementwise(), the same for all functions: which kernel runs, and over which loop.
#include "tensor/cuda/elementwise_loop.h"

namespace pg::cuda {
namespace {

template <int N>
using Operands = std::array<AnyOperand, N>;

// begin[k]: offset of the loop's first element in operand k.
template <int N, class Loop>
void launch_elementwise(const AnyKernel& kernel, int width, const Loop& w, const void* f, const Operands<N>& operands,
                        const std::array<int64_t, N>& begin) {
  const void* data[N];
  const void* arguments[2 + N] = {&w, f};
  for (int k = 0; k < N; ++k) {
    data[k] = operands[k].view->template as<char>() + begin[k] * static_cast<int64_t>(operands[k].bytes);
    arguments[2 + k] = &data[k];
  }
  const int at_once = packs_at_once(width);
  launch(kernel, blocks_for((int64_t{w.n} + at_once - 1) / at_once), kThreads, 0, stream(), arguments);
}

// Whether w can run as a ContiguousLoop in packs of `width` elements.
template <int N>
bool is_contiguous_loop(const StridedLoop<N>& w, const Operands<N>& operands, ContiguousLoop<N>& contiguous,
                        int width) {
  if (w.rank != 1) return false;
  int past[N];  // how many elements each operand begins past a multiple of a pack's size
  for (int k = 0; k < N; ++k) {
    past[k] = static_cast<int>(reinterpret_cast<uintptr_t>(operands[k].view->data) / operands[k].bytes %
                               static_cast<unsigned>(width));
    const int64_t stride = w.stride[k][0];
    contiguous.adjacent[k] = stride == 1;
    if (stride == 1 ? past[k] != past[0] : stride != 0 || k == 0) return false;
  }
  contiguous.head = static_cast<int>(std::min<int64_t>((width - past[0]) % width, w.n));
  const int64_t packs = (w.n - contiguous.head) / width;
  contiguous.n = static_cast<uint32_t>(packs);
  contiguous.extra = static_cast<int>(w.n - packs * width);
  return packs <= Loop32<N>::kMost;
}

}  // namespace

template <int N>
void start_elementwise(const ElementwiseKernels& kernels, const void* f, const std::array<AnyOperand, N>& operands) {
  std::array<const Strides*, N> strides;
  for (int k = 0; k < N; ++k) strides[k] = &operands[k].view->strides;
  const StridedLoop<N> w = plan_loop<N>(operands[0].view->shape, strides);
  if (w.n == 0) return;
  ContiguousLoop<N> contiguous;
  if (is_contiguous_loop<N>(w, operands, contiguous, kernels.width)) {
    std::array<int64_t, N> begin;
    for (int k = 0; k < N; ++k) begin[k] = contiguous.adjacent[k] ? contiguous.head : 0;
    return launch_elementwise<N>(kernels.contiguous, kernels.width, contiguous, f, operands, begin);
  }
  for_loops32(w, [&](const Loop32<N>& part, const std::array<int64_t, N>& begin) {
    launch_elementwise<N>(kernels.strided, 1, part, f, operands, begin);
  });
}

template void start_elementwise<1>(const ElementwiseKernels&, const void*, const std::array<AnyOperand, 1>&);
template void start_elementwise<2>(const ElementwiseKernels&, const void*, const std::array<AnyOperand, 2>&);
template void start_elementwise<3>(const ElementwiseKernels&, const void*, const std::array<AnyOperand, 3>&);
template void start_elementwise<4>(const ElementwiseKernels&, const void*, const std::array<AnyOperand, 4>&);

}  // namespace pg::cuda
