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

struct Impl {  // yours by default
  decltype(&lesson02::mul) mul = lesson02::mul;
  decltype(&lesson02::tanh) tanh = lesson02::tanh;
  decltype(&lesson02::matmul) matmul = lesson02::matmul;
  decltype(&lesson02::pass_summed) pass_summed = lesson02::pass_summed;
  decltype(&lesson02::gradcheck) gradcheck = lesson02::gradcheck;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// a + b with broadcasting, recorded on the tape with impl.pass_summed.
Tensor add(const Impl& impl, const Tensor& a, const Tensor& b);

// The part of the demonstration that shows a tape.
void show_graph(kit::Demo& demo, const Impl& impl);

// A softmax whose dx is twice too large.
Tensor softmax_doubled(const Tensor& x);

}  // namespace pg::lesson02
