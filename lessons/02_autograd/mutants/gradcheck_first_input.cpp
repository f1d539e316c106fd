// check: 02.5  says: check every input
#define MUTANT_gradcheck
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

double gradcheck(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
  const Tensor y = f(x);
  Generator random(7);
  const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
  backward(y, r);

  NoGrad guard;
  const double h = 1e-5;
  double worst = 0;
  for (const Tensor& input : {x[0]}) {
    const std::vector<double> analytic = input.grad().to_vector();
    double difference = 0, norm_a = 0, norm_n = 0;
    for (int64_t n = 0; n < input.numel(); ++n) {
      double& element = input.data<double>()[n];
      const double before = element;
      element = before + h;
      const double above = pg::sum(pg::mul(f(x), r)).item();
      element = before - h;
      const double below = pg::sum(pg::mul(f(x), r)).item();
      element = before;
      const double numeric = (above - below) / (2 * h);
      difference += (analytic[n] - numeric) * (analytic[n] - numeric);
      norm_a += analytic[n] * analytic[n];
      norm_n += numeric * numeric;
    }
    worst = std::max(worst, std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5}));
  }
  return worst;
}

}  // namespace pg::lesson02
