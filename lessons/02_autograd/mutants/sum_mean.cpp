// check: 02.4  says: this is the mean
#define MUTANT_pass_summed
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) {
  if (!g.wants(i)) return;
  const int extra = d.rank() - shape.rank();
  std::vector<int> stretched;
  for (int dim = 0; dim < d.rank(); ++dim) {
    if (dim < extra || shape[dim - extra] != d.size(dim)) stretched.push_back(dim);
  }
  g.pass(i, stretched.empty() ? d : pg::reshape(pg::mean(d, stretched), shape));
}

}  // namespace pg::lesson02
