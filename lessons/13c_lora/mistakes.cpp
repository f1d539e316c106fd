// The known mistakes of lesson 13c, in an order in which the first row that fits a wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/13c_lora/checks.h"

namespace pg::lesson13c {
namespace {

using T = const Tensor&;

// A right adapter, but for A and the scale.
void append(Linear& layer, const LoraConfig& c, T a, double scale) {
  layer.weight.set_requires_grad(false);
  if (layer.bias.defined()) layer.bias.set_requires_grad(false);
  Tensor b = Tensor::zeros({layer.weight.size(0), c.rank}, layer.weight.dtype()), leaf = a;
  LoraAdapter one;
  one.end = layer.weight.size(0);
  one.scale = scale;
  one.a = leaf.set_requires_grad();
  one.b = b.set_requires_grad();
  layer.lora.push_back(one);
}
// A is uniform in ±high(in, out, rank), or positive.
template <auto high, bool positive = false>
void drawn(Linear& layer, const LoraConfig& c, Generator& g) {
  const double in = static_cast<double>(layer.weight.size(1)), out = static_cast<double>(layer.weight.size(0));
  const double bound = high(in, out, static_cast<double>(c.rank));
  append(layer, c,
         Tensor::uniform({c.rank, layer.weight.size(1)}, positive ? 0 : -bound, bound, g, layer.weight.dtype()),
         c.alpha / static_cast<double>(c.rank));
}
// scale(alpha, rank)
template <auto scale>
void scaled(Linear& layer, const LoraConfig& c, Generator& g) {
  const double bound = 1 / std::sqrt(static_cast<double>(layer.weight.size(1)));
  append(layer, c, Tensor::uniform({c.rank, layer.weight.size(1)}, -bound, bound, g, layer.weight.dtype()),
         scale(c.alpha, static_cast<double>(c.rank)));
}

}  // namespace

kit::Mistakes<&Impl::add_lora> add_mistakes() {
  return {{"lora_by_rank", "13.5", "uniform in ±1/√rank: A reads `in` channels, so it is ±1/√in",
           drawn<[](double, double, double rank) { return 1 / std::sqrt(rank); }>},
          {"lora_by_out", "13.5", "uniform in ±1/√out: A reads `in` channels, so it is ±1/√in",
           drawn<[](double, double out, double) { return 1 / std::sqrt(out); }>},
          {"lora_no_root", "13.5", "uniform in ±1/in: the root is missing, ±1/√in",
           drawn<[](double in, double, double) { return 1 / in; }>},
          {"lora_by_1", "13.5", "uniform in ±1: it is ±1/√in", drawn<[](double, double, double) { return 1.0; }>},
          {"lora_normal", "13.5", "normal, not uniform: Tensor::uniform(shape, -1/√in, 1/√in, generator, dtype)",
           [](Linear& layer, const LoraConfig& c, Generator& g) {
             const int64_t in = layer.weight.size(1);
             append(layer, c,
                    Tensor::normal({c.rank, in}, 0, 1 / std::sqrt(static_cast<double>(in)), g, layer.weight.dtype()),
                    c.alpha / static_cast<double>(c.rank));
           }},
          {"lora_positive", "13.5", "uniform from 0 to 1/√in: A has both signs, ±1/√in",
           drawn<[](double in, double, double) { return 1 / std::sqrt(in); }, true>},
          {"lora_alpha_only", "13.5", "alpha is not divided by the rank: scale = alpha / rank",
           scaled<[](double alpha, double) { return alpha; }>},
          {"lora_rank_twice", "13.5", "divided by the rank twice: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return alpha / rank / rank; }>},
          {"lora_no_alpha", "13.5", "alpha is missing: scale = alpha / rank",
           scaled<[](double, double rank) { return 1 / rank; }>},
          {"lora_whole_numbers", "13.5", "alpha / rank is a division of whole numbers, 7 / 3 is 2: divide in double",
           scaled<[](double alpha, double rank) { return std::floor(alpha / rank); }>},
          {"lora_no_scale", "13.5", "the scale is not set: alpha / rank", scaled<[](double, double) { return 1.0; }>},
          {"lora_upside_down", "13.5", "upside down: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return rank / alpha; }>},
          {"lora_rank_root", "13.5", "divided by the root of the rank: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return alpha / std::sqrt(rank); }>}};
}

namespace {

// Adds `count` adapters' terms with factor(scale), from their own rows on or from row 0 on.
void merge(Linear& layer, double (*factor)(double), size_t count = 9, bool from_row_0 = false) {
  check(!layer.lora.empty() && !layer.lora_merged, "merge_lora: no adapter, or merged already");
  NoGrad no_grad;
  for (size_t i = 0; i < std::min(count, layer.lora.size()); ++i) {
    const LoraAdapter& one = layer.lora[i];
    const int64_t begin = from_row_0 ? 0 : one.begin;
    const Tensor rows = layer.weight.detach().view_slice(0, begin, begin + one.end - one.begin);
    rows.copy_from(rows + matmul(one.b, one.a) * factor(one.scale));
  }
  layer.lora_merged = true;
}
double right_factor(double scale) { return scale; }

}  // namespace

kit::Mistakes<&Impl::merge_lora> merge_mistakes() {
  return {{"merge_copy", "13.6", "the weight is what it was: nothing was written, or into a copy",
           [](Linear& layer) { merge(layer, right_factor, 0); }},
          {"merge_no_scale", "13.6", "the scale is missing: scale·B·A",
           [](Linear& layer) { merge(layer, [](double) { return 1.0; }); }},
          {"merge_scale_twice", "13.6", "the scale is applied twice: adapter.scale is alpha/rank already",
           [](Linear& layer) { merge(layer, [](double scale) { return scale * scale; }); }},
          {"merge_by_scale", "13.6", "divided by the scale: scale·B·A",
           [](Linear& layer) { merge(layer, [](double scale) { return 1 / scale; }); }},
          {"merge_minus", "13.6", "subtracted: merging adds",
           [](Linear& layer) { merge(layer, [](double scale) { return -scale; }); }},
          {"merge_term_twice", "13.6", "the term is added twice",
           [](Linear& layer) { merge(layer, [](double scale) { return 2 * scale; }); }},
          {"merge_first_only", "13.6",
           "only the first adapter is merged: a layer may have one for queries and one for values",
           [](Linear& layer) { merge(layer, right_factor, 1); }},
          {"merge_row_0", "13.6", "the terms are added from row 0 on: an adapter belongs to the rows begin to end - 1",
           [](Linear& layer) { merge(layer, right_factor, 9, true); }},
          {"merge_term_only", "13.6", "W is replaced by the term: W + scale·B·A",
           [](Linear& layer) {
             layer.weight.detach().fill(0);
             merge(layer, right_factor);
           }},
          {"merge_transposed", "13.6", "the term is transposed: B·A is [out, in], and a square weight takes either",
           [](Linear& layer) {
             const Tensor weight = layer.weight.detach(), before = weight.clone();
             merge(layer, right_factor);
             const bool square = weight.size(0) == weight.size(1) && layer.lora.size() == 1;
             if (square) weight.copy_from(before + transpose((weight - before).clone()));
           }}};
}

}  // namespace pg::lesson13c
