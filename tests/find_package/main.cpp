// Another project's program, with the installed headers and the installed library: y = sum(a·b), so dy/da = b's row
// sums.
#include <autograd/ops.h>
#include <autograd/tape.h>
#include <fmt/core.h>
#include <nn/gpt2.h>
#include <tasks/char_tokenizer.h>

int main() {
  pg::Tensor a = pg::Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  pg::Tensor b = pg::Tensor::from(std::vector<float>{1, 0, 2, 1, 0, 3}, {3, 2});
  a.set_requires_grad();
  pg::Tensor y = pg::sum(pg::matmul(a, b));
  pg::backward(y);
  const std::vector<double> want = {1, 3, 3, 1, 3, 3};
  if (y.item() != 53 || a.grad().to_vector() != want) {
    fmt::print("wrong result: y = {}\n", y.item());
    return 1;
  }
}
