// check: 04.4  says: what writes into the stream needs
#define MUTANT_init_weights
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

void init_weights(Gpt2& model, Generator& generator) {
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 2) {
      const bool writer = name.ends_with("c_proj.weight");
      const double std = name.starts_with("h.") && !writer ? model.config.in_proj_std : 0.02;
      parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
    } else {
      parameter.fill(name.ends_with(".weight") ? 1 : 0);
    }
  }
}

}  // namespace pg::lesson04
