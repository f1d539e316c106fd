// check: 04.4  says: yours is all zeros
#define MUTANT_init_weights
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

void init_weights(Gpt2& model, Generator& generator) {
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 2) {
      const double writer = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
      const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
      const double std = name.ends_with("c_proj.weight") ? writer : reader;
      parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
    } else {
      parameter.fill(0);
    }
  }
}

}  // namespace pg::lesson04
