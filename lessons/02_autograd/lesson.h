#pragma once
// Lesson 2: the functions that you write, with the engine's own signatures.
#include <functional>
#include <span>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson02 {

using Function = std::function<Tensor(std::span<const Tensor>)>;

Tensor mul(const Tensor& a, const Tensor& b);
Tensor tanh(const Tensor& x);
Tensor matmul(const Tensor& a, const Tensor& b);
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape);
double gradcheck(const Function& f, const std::vector<Tensor>& inputs);

struct Impl {
  Tensor (*mul)(const Tensor&, const Tensor&);
  Tensor (*tanh)(const Tensor&);
  Tensor (*matmul)(const Tensor&, const Tensor&);
  void (*pass_summed)(Grads&, int, const Tensor&, const Shape&);
  double (*gradcheck)(const Function&, const std::vector<Tensor>&);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// a + b with broadcasting, recorded on the tape with impl.pass_summed.
Tensor add(const Impl& impl, const Tensor& a, const Tensor& b);

// Three ops with a right forward and a wrong backward.
Tensor tanh_without_square(const Tensor& x);                   // dx = dy·(1 - y)
Tensor matmul_untransposed(const Tensor& a, const Tensor& b);  // db = a·dc, for square matrices
Tensor softmax_doubled(const Tensor& x);                       // dx twice too large

}  // namespace pg::lesson02
