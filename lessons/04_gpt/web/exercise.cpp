// The pieces of lesson 4 in a browser: each calls the learner's JavaScript.
#include "lessons/04_gpt/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
namespace {

struct Parameter {
  std::string name;
  Tensor tensor;
};
Generator* given = nullptr;  // of the call of init_weights that runs

}  // namespace

template <>
inline constexpr auto kFields<lesson04::AttentionGrads> =
    std::tuple{field("dq", &lesson04::AttentionGrads::dq), field("dk", &lesson04::AttentionGrads::dk),
               field("dv", &lesson04::AttentionGrads::dv)};
template <>
inline constexpr auto kFields<lesson04::LayerNormGrads> =
    std::tuple{field("dx", &lesson04::LayerNormGrads::dx), field("dw", &lesson04::LayerNormGrads::dw),
               field("db", &lesson04::LayerNormGrads::db)};
template <>
inline constexpr auto kFields<Parameter> =
    std::tuple{field("name", &Parameter::name), field("tensor", &Parameter::tensor)};
template <>
inline constexpr auto kFields<TransformerConfig> =
    std::tuple{field("n_layer", &TransformerConfig::n_layer), field("in_proj_std", &TransformerConfig::in_proj_std)};
template <>
inline constexpr auto kFields<KvSlot> = std::tuple{field("k", &KvSlot::k), field("v", &KvSlot::v),
                                                   field("before", &KvSlot::before), field("after", &KvSlot::after)};

const Offer kWeights("attention_weights", {"q", "k"}, lesson04::attention_weights);
const Offer kAttention(
    "attention", {"q", "k", "v", "lengths"},
    +[](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& lengths) {
      AttentionOptions options;
      options.kv_len = lengths;
      return pg::attention(q, k, v, options);
    });
const Offer kCopyFrom(
    "copy_from", {"x", "values"}, +[](const Tensor& x, const Tensor& values) { x.copy_from(values); });
const Offer kDraw(
    "draw", {"shape", "std"}, +[](const Shape& shape, double std) {
      check(given, "draw: the generator is that of init_weights: call it there only");
      return Tensor::normal(shape, 0, std, *given);
    });

}  // namespace pg::web

namespace pg::lesson04 {
using web::call;

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) { return call<Tensor>("attention", q, k, v); }
AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  return call<AttentionGrads>("attention_backward", dout, q, k, v);
}
LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  return call<LayerNormGrads>("layer_norm_backward", dy, x, w, eps);
}
void init_weights(Transformer& model, Generator& generator) {
  std::vector<web::Parameter> parameters;
  for (const auto& [name, tensor] : named_parameters(model)) parameters.push_back({name, tensor});
  web::given = &generator;
  const auto end = std::unique_ptr<Generator*, void (*)(Generator**)>(&web::given, [](Generator** g) { *g = nullptr; });
  call<void>("init_weights", std::as_const(parameters), std::as_const(model.config));
}
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  return call<Tensor>("decode", slot, q, k, v);
}

}  // namespace pg::lesson04
