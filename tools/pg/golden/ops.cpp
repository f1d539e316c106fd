// The operations that golden cases may name.
#include "tools/pg/golden/ops.h"

#include <fmt/ranges.h>

#include <limits>

#include "autograd/ops.h"
#include "nn/optim.h"
#include "nn/train/sgd.h"
#include "tensor/base/text.h"

namespace pg::tools {
namespace {

using Inputs = GoldenOp::Inputs;
using Attributes = GoldenAttributes;
using Table = GoldenTable;

int dim_of(const Attributes& a, const char* name = "dim") { return static_cast<int>(a.integer(name)); }
std::vector<int> dims_of(const Attributes& a, const char* name) {
  std::vector<int> dims;
  for (int64_t d : a.integers(name)) dims.push_back(static_cast<int>(d));
  return dims;
}
std::vector<int> reduced_dims(const Attributes& a) { return a.has("dim") ? dims_of(a, "dim") : std::vector<int>{}; }

void add_elementwise(Table& t) {
  constexpr std::pair<const char*, Tensor (*)(const Tensor&)> unary[] = {
      {"neg", neg},     {"abs", abs},   {"exp", exp},         {"expm1", expm1},           {"log", log},
      {"log1p", log1p}, {"sqrt", sqrt}, {"rsqrt", rsqrt},     {"reciprocal", reciprocal}, {"sin", sin},
      {"cos", cos},     {"tanh", tanh}, {"sigmoid", sigmoid}, {"softplus", softplus},     {"relu", relu},
      {"silu", silu},
  };
  for (const auto& [name, f] : unary)
    t[name] = {1, 1, {}, [f = f](const Inputs& in, const Attributes&) { return Inputs{f(in[0])}; }};
  constexpr std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)> binary[] = {
      {"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}, {"pow", pow}, {"minimum", minimum}, {"maximum", maximum},
      {"eq", eq},   {"ne", ne},   {"lt", lt},   {"le", le},   {"gt", gt},   {"ge", ge},           {"matmul", matmul},
  };
  for (const auto& [name, f] : binary)
    t[name] = {2, 2, {}, [f = f](const Inputs& in, const Attributes&) { return Inputs{f(in[0], in[1])}; }};
  t["where"] = {3, 3, {}, [](const Inputs& in, const Attributes&) { return Inputs{where(in[0], in[1], in[2])}; }};
  t["affine"] = {1, 1, {"scale", "shift"}, [](const Inputs& in, const Attributes& a) {
                   return Inputs{affine(in[0], a.number("scale"), a.number("shift"))};
                 }};
  t["pow_scalar"] = {1, 1, {"exponent"}, [](const Inputs& in, const Attributes& a) {
                       return Inputs{pow(in[0], a.number("exponent"))};
                     }};
  t["clamp"] = {1, 1, {"min", "max"}, [](const Inputs& in, const Attributes& a) {
                  constexpr double inf = std::numeric_limits<double>::infinity();
                  return Inputs{clamp(in[0], a.number("min", -inf), a.number("max", inf))};
                }};
  t["gelu"] = {1, 1, {"approximate"}, [](const Inputs& in, const Attributes& a) {
                 const std::string& word = a.word("approximate");
                 check(word == "tanh" || word == "none", "gelu: approximate: expected tanh or none, got {}", word);
                 return Inputs{gelu(in[0], word == "tanh" ? Gelu::tanh : Gelu::erf)};
               }};
  t["dropout"] = {1, 1, {"p"}, [](const Inputs& in, const Attributes& a) {
                    const double p = a.number("p");
                    check(p == 0 || p == 1, "dropout: p: expected 0 or 1, got {}: between them the result is random",
                          p);
                    Generator none;
                    return Inputs{dropout(in[0], p, true, none)};
                  }};
}

void add_reductions(Table& t) {
  using Reduce = Tensor (*)(const Tensor&, const ReduceDims&, bool);
  constexpr std::pair<const char*, Reduce> reductions[] = {
      {"sum", sum}, {"mean", mean}, {"amax", amax}, {"logsumexp", logsumexp}};
  for (const auto& [name, f] : reductions)
    t[name] = {1, 1, {"dim", "keepdim"}, [f = f](const Inputs& in, const Attributes& a) {
                 return Inputs{f(in[0], reduced_dims(a), a.flag("keepdim", false))};
               }};
  t["var"] = {1, 1, {"dim", "correction", "keepdim"}, [](const Inputs& in, const Attributes& a) {
                const int correction = static_cast<int>(a.integer("correction", 1));
                return Inputs{var(in[0], reduced_dims(a), correction, a.flag("keepdim", false))};
              }};
  using OverDim = Tensor (*)(const Tensor&, int);
  constexpr std::pair<const char*, OverDim> over_dim[] = {
      {"cumsum", cumsum}, {"softmax", softmax}, {"log_softmax", log_softmax}};
  for (const auto& [name, f] : over_dim)
    t[name] = {1, 1, {"dim"}, [f = f](const Inputs& in, const Attributes& a) { return Inputs{f(in[0], dim_of(a))}; }};
  t["argmax"] = {1, 1, {"dim"}, [](const Inputs& in, const Attributes& a) { return Inputs{argmax(in[0], dim_of(a))}; }};
}

void add_shapes(Table& t) {
  t["reshape"] = {1, 1, {"shape"}, [](const Inputs& in, const Attributes& a) {
                    return Inputs{reshape(in[0], a.integers("shape"))};
                  }};
  t["expand"] = {1, 1, {"shape"}, [](const Inputs& in, const Attributes& a) {
                   return Inputs{expand(in[0], a.integers("shape"))};
                 }};
  t["transpose"] = {1, 1, {"dim0", "dim1"}, [](const Inputs& in, const Attributes& a) {
                      return Inputs{transpose(in[0], dim_of(a, "dim0"), dim_of(a, "dim1"))};
                    }};
  t["permute"] = {
      1, 1, {"dims"}, [](const Inputs& in, const Attributes& a) { return Inputs{permute(in[0], dims_of(a, "dims"))}; }};
  t["slice"] = {1, 1, {"dim", "start", "end", "step"}, [](const Inputs& in, const Attributes& a) {
                  return Inputs{slice(in[0], dim_of(a), a.integer("start"), a.integer("end"), a.integer("step", 1))};
                }};
  t["select"] = {1, 1, {"dim", "index"}, [](const Inputs& in, const Attributes& a) {
                   return Inputs{select(in[0], dim_of(a), a.integer("index"))};
                 }};
  t["cat"] = {1, 100, {"dim"}, [](const Inputs& in, const Attributes& a) { return Inputs{cat(in, dim_of(a))}; }};
  t["stack"] = {1, 100, {"dim"}, [](const Inputs& in, const Attributes& a) { return Inputs{stack(in, dim_of(a))}; }};
  t["gather"] = {
      2, 2, {"dim"}, [](const Inputs& in, const Attributes& a) { return Inputs{gather(in[0], dim_of(a), in[1])}; }};
  t["index_select"] = {2, 2, {"dim"}, [](const Inputs& in, const Attributes& a) {
                         return Inputs{index_select(in[0], dim_of(a), in[1])};
                       }};
  t["scatter_add"] = {3, 3, {"dim"}, [](const Inputs& in, const Attributes& a) {
                        return Inputs{scatter_add(in[0], dim_of(a), in[1], in[2])};
                      }};
  t["one_hot"] = {1, 1, {"num_classes"}, [](const Inputs& in, const Attributes& a) {
                    constexpr int64_t most = 1 << 20;  // the result is in the case's file too
                    const int64_t classes = a.integer("num_classes");
                    check(classes <= most, "one_hot: num_classes: expected at most {}, got {}", most, classes);
                    return Inputs{one_hot(in[0], classes)};
                  }};
}

Tensor golden_cross_entropy(const Inputs& in, const Attributes& a) {
  CrossEntropyOptions options;
  const std::string& word = a.word("reduction");
  check(word == "mean" || word == "sum" || word == "none",
        "cross_entropy: reduction: expected mean, sum or none, got {}", word);
  options.reduction = word == "mean" ? Reduction::mean : word == "sum" ? Reduction::sum : Reduction::none;
  options.ignore_index = static_cast<int32_t>(a.integer("ignore_index", -100));
  options.label_smoothing = a.number("label_smoothing", 0);
  options.weight = input_or_none(in, 2);
  return cross_entropy(in[0], in[1], options);
}

Tensor golden_attention(const Inputs& in, const Attributes& a) {
  AttentionOptions options;
  options.causal = a.flag("is_causal");
  if (a.has("scale")) options.scale = a.number("scale");
  options.key_mask = input_or_none(in, 3);
  return attention(in[0], in[1], in[2], options);
}

void add_layers(Table& t) {
  t["linear"] = {
      2, 3, {}, [](const Inputs& in, const Attributes&) { return Inputs{linear(in[0], in[1], input_or_none(in, 2))}; }};
  t["linear_gelu"] = {2, 3, {}, [](const Inputs& in, const Attributes&) {
                        return Inputs{linear_gelu(in[0], in[1], input_or_none(in, 2))};
                      }};
  t["embedding"] = {2, 2, {}, [](const Inputs& in, const Attributes&) { return Inputs{embedding(in[0], in[1])}; }};
  t["cross_entropy"] = {
      2, 3, {"reduction", "ignore_index", "label_smoothing"}, [](const Inputs& in, const Attributes& a) {
        return Inputs{golden_cross_entropy(in, a)};
      }};
  t["token_log_prob"] = {2, 2, {}, [](const Inputs& in, const Attributes&) {
                           auto [log_prob, entropy] = token_log_prob(in[0], in[1]);
                           return Inputs{log_prob, entropy};
                         }};
  t["layer_norm"] = {1, 3, {"eps"}, [](const Inputs& in, const Attributes& a) {
                       return Inputs{layer_norm(in[0], input_or_none(in, 1), input_or_none(in, 2), a.number("eps"))};
                     }};
  t["add_layer_norm"] = {4, 4, {"eps"}, [](const Inputs& in, const Attributes& a) {
                           auto [sum, norm] = add_layer_norm(in[0], in[1], in[2], in[3], a.number("eps"));
                           return Inputs{sum, norm};
                         }};
  t["rms_norm"] = {1, 2, {"eps"}, [](const Inputs& in, const Attributes& a) {
                     return Inputs{rms_norm(in[0], input_or_none(in, 1), a.number("eps"))};
                   }};
  t["attention"] = {3, 4, {"is_causal", "scale"}, [](const Inputs& in, const Attributes& a) {
                      return Inputs{golden_attention(in, a)};
                    }};
  t["attention_qkv"] = {
      1, 1, {"heads", "is_causal"}, [](const Inputs& in, const Attributes& a) {
        return Inputs{attention_qkv(in[0], static_cast<int>(a.integer("heads")), a.flag("is_causal"))};
      }};
  t["rope"] = {1, 2, {"base"}, [](const Inputs& in, const Attributes& a) {
                 return Inputs{rope(in[0], a.number("base"), input_or_none(in, 1))};
               }};
}

// A module with a single parameter, for its own slab.
struct OneParameter : Module {
  explicit OneParameter(const Tensor& value) : p(value.clone()) { p.set_requires_grad(); }
  Tensor p;
  void visit(Visitor& visitor) override { visitor("p", p); }
};

void set_gradient(const ParamSlab& slab, const OneParameter& module, const Tensor& gradient) {
  slab.zero_grad();
  backward(affine(module.p, 1, 0), gradient);
}

// in: parameters p, gradients [steps, shape of p] → p after all steps.
template <class Optimizer, class Options>
Inputs golden_optimizer(const Inputs& in, const Options& options, double lr) {
  OneParameter module(in[0]);
  ParamSlab slab(module);
  Optimizer optimizer(slab, options);
  for (int64_t step = 0; step < in[1].size(0); ++step) {
    set_gradient(slab, module, in[1].view_select(0, step));
    optimizer.step(lr);
  }
  return {module.p.detach()};
}

Inputs golden_adamw(const Inputs& in, const Attributes& a) {
  const std::vector<double>& betas = a.numbers("betas");
  check(betas.size() == 2, "adamw: betas: expected two numbers, got {}", betas.size());
  check(in[1].size(0) == a.integer("steps"), "adamw: steps is {}, but there are {} gradients", a.integer("steps"),
        in[1].size(0));
  check(in[0].rank() >= 2 || a.number("weight_decay") == 0, "adamw: weight decay is for matrices, got parameters {}",
        in[0].shape());
  const AdamWOptions options{betas[0], betas[1], a.number("eps"), a.number("weight_decay")};
  return golden_optimizer<AdamW>(in, options, a.number("lr"));
}

Inputs golden_clip(const Inputs& in, const Attributes& a) {
  OneParameter module(in[0]);
  ParamSlab slab(module);
  set_gradient(slab, module, in[0]);
  const double norm = clip_grad_norm(slab, a.number("max_norm"));
  return {ParamSlab::view_of(slab.grads(), slab.segments()[0]), Tensor::scalar(norm, in[0].dtype())};
}

void add_optimizers(Table& t) {
  t["adamw"] = {2, 2, {"lr", "betas", "eps", "weight_decay", "steps"}, golden_adamw};
  t["sgd"] = {2, 2, {"lr", "momentum", "weight_decay", "nesterov"}, [](const Inputs& in, const Attributes& a) {
                const SgdOptions options{a.number("momentum"), a.flag("nesterov"), a.number("weight_decay")};
                return golden_optimizer<Sgd>(in, options, a.number("lr"));
              }};
  t["clip_grad_norm"] = {1, 1, {"max_norm"}, golden_clip};
}

Table make_table() {
  Table t;
  add_elementwise(t);
  add_reductions(t);
  add_shapes(t);
  add_layers(t);
  add_optimizers(t);
  add_rl(t);
  return t;
}

}  // namespace

std::vector<Tensor> apply_golden_op(const std::string& op, const Inputs& inputs, const Attributes& attributes) {
  static const Table table = make_table();
  const auto found = table.find(op);
  if (found == table.end()) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : table) names.push_back(name);
    fail("golden: unknown op '{}'{}; known: {}", op, did_you_mean(op, names), fmt::join(names, " "));
  }
  const GoldenOp& entry = found->second;
  attributes.check_known(entry.attributes);
  check(inputs.size() >= entry.min_inputs && inputs.size() <= entry.max_inputs, "{}: expected {} to {} inputs, got {}",
        op, entry.min_inputs, entry.max_inputs, inputs.size());
  return entry.run(inputs, attributes);
}

}  // namespace pg::tools
