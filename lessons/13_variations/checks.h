#pragma once
// The checks of lesson 13 by part, the known mistakes, and what they share.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/13_variations/lesson.h"

namespace pg::lesson13 {

// checks_rope.cpp
kit::Grades<Impl> check_rope, check_decode;
// 13.2, row by row, by pg::rope from position 0 and by a softmax.
Tensor decode_by_rows(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options);
// checks_heads.cpp
kit::Grades<Impl> check_repeat_heads, check_absorbed;
// checks_lora.cpp
kit::Grades<Impl> check_add_lora, check_merge_lora;
// checks_masks.cpp
kit::Grades<Impl> check_mask_tokens, check_denoising_loss;

// mistakes_attention.cpp
kit::Mistakes<&Impl::rope> rope_mistakes();
kit::Mistakes<&Impl::decode> decode_mistakes();
kit::Mistakes<&Impl::repeat_heads> repeat_mistakes();
kit::Mistakes<&Impl::absorbed_attention> latent_mistakes();
// mistakes_layers.cpp
kit::Mistakes<&Impl::add_lora> add_mistakes();
kit::Mistakes<&Impl::merge_lora> merge_mistakes();
kit::Mistakes<&Impl::mask_tokens> mask_mistakes();
kit::Mistakes<&Impl::denoising_loss> loss_mistakes();
// The denoising loss by its definition, or by another rule.
struct LossRule {
  bool mask_logit = false, first_column = false, visible_too = false;
  double power = 1;  // of the weight
  enum Divisor { all, masked, rows, length, none, weights } divisor = all;
  double unit = 1;
};
Tensor loss_of(const Tensor& logits, const MaskedTokens& tokens, const LossRule& rule = {});

// The heads `of` of x [B, Hkv, T, D].
Tensor heads_of(const Tensor& x, const std::vector<int32_t>& of);

// Grader::expect for what is no value: `explain` shows it only if it fails.
bool require(kit::Grader& g, bool ok, const std::string& input, const std::string& got, const std::string& want,
             const std::string& diagnosis);
// Grader::equal for a tensor, which must also be defined and have the dtype of `want`.
bool same_tensor(kit::Grader& g, const std::string& input, const Tensor& got, const Tensor& want,
                 const kit::Compare& how = {});

// Tensors that a function must not change.
class Unchanged {
 public:
  explicit Unchanged(const std::vector<Tensor>& tensors);
  bool expect(kit::Grader& g, const std::string& input) const;

 private:
  std::vector<Tensor> tensors_, copies_;
};

// Compares the gradients that `got` and `want` give to each of the named inputs, for one random cotangent.
using NamedInputs = std::vector<std::pair<std::string, Tensor>>;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;
bool same_gradients(kit::Grader& g, const std::string& input, const Function& got, const Function& want,
                    const NamedInputs& inputs);

// Runs `call`, which should not throw. If it throws an Error, that is WRONG: with the diagnosis of the first pair whose
// words are in the Error's text, else with one for two dtypes, or "".
bool runs(kit::Grader& g, const std::string& input, const std::function<void()>& call,
          const std::vector<std::pair<std::string, std::string>>& says = {});
// `call` must throw an Error.
void refuses(kit::Grader& g, const std::string& input, const std::function<void()>& call);

Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype = f64);

}  // namespace pg::lesson13
