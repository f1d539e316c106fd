// The checks of lesson 13c: the table and the reference.
#include "lessons/13c_lora/checks.h"

#include <cmath>

namespace pg::lesson13c {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "13.5",
       .title = "a new low-rank adapter",
       .piece = kit::piece<&Impl::add_lora>("add_lora"),
       .section = "Two thin matrices",
       .why = "A and B are multiplied with each other: if both begin as zero nothing is ever learned, if neither does "
              "the pretrained model is damaged before the first step.",
       .hints =
           {"The model must not change at first, and yet something must have a gradient. Which of the two may be "
            "zero?",
            "A [rank, in] uniform in ±1/√in, B [out, rank] = 0, scale = alpha/rank; dL/dB = scale·(dL/dy)ᵀ·(x·Aᵀ).",
            "in = weight.size(1), out = weight.size(0), bound = 1/√in. weight.set_requires_grad(false), the bias "
            "too if it is defined. a = Tensor::uniform({rank, in}, -bound, bound, generator, weight.dtype()), b = "
            "Tensor::zeros({out, rank}, weight.dtype()), both with set_requires_grad(); "
            "layer.lora.push_back(adapter)."},
       .solution = {"nn/variants/lora.cpp", "void attach_adapters("},
       .run = check_add_lora,
       .harmless = {{{"a size of 1", "other shapes", "white space"},
                     "config.targets chose this layer before the call"}}},
      {.id = "13.6",
       .title = "merging adapters",
       .piece = kit::piece<&Impl::merge_lora>("merge_lora"),
       .section = "Two thin matrices",
       .why = "A merged model costs nothing extra. A term that is merged and still added, or merged by two scripts, is "
              "a model nobody trained, and it runs.",
       .hints = {"After merging, who adds the term: the weight, the layer, or both? What if somebody calls it again?",
                 "W[begin:end] += scale·B·A, [end - begin, rank]·[rank, in], for each adapter; lora_merged = true; an "
                 "Error if it is true already.",
                 "check(!layer.lora.empty() && !layer.lora_merged, \"merge_lora: ...\"). For each adapter: rows = "
                 "layer.weight.detach().view_slice(0, begin, end); rows.copy_from(rows + matmul(b, a) * scale). Then "
                 "the flag."},
       .solution = {"nn/variants/lora.cpp", "void add_to_weights("},
       .run = check_merge_lora},
  };
}

Impl reference() {
  return {.add_lora =
              [](Linear& layer, const LoraConfig& config, Generator& generator) {
                const int64_t out = layer.weight.size(0), in = layer.weight.size(1);
                const double bound = 1 / std::sqrt(static_cast<double>(in));
                const DType dtype = layer.weight.dtype();
                LoraAdapter one;
                one.end = out;
                one.scale = config.alpha / static_cast<double>(config.rank);
                one.a = Tensor::uniform({config.rank, in}, -bound, bound, generator, dtype).set_requires_grad();
                one.b = Tensor::zeros({out, config.rank}, dtype).set_requires_grad();
                Visitor freeze([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(false); });
                layer.visit(freeze);
                layer.lora.push_back(one);
              },
          .merge_lora =
              [](Linear& layer) {
                check(!layer.lora.empty(), "merge_lora: the layer has no adapters");
                check(!layer.lora_merged, "merge_lora: the layer is merged already");
                // The rows of the unit matrix, sent through the layer without its bias, give the transposed sum.
                NoGrad no_grad;
                Linear unbiased = layer;
                unbiased.bias = Tensor();
                const Tensor ids = Tensor::arange(layer.weight.size(1), i32);
                const Tensor unit = one_hot(ids, layer.weight.size(1), layer.weight.dtype());
                layer.weight.detach().copy_from(transpose(unbiased(unit)));
                layer.lora_merged = true;
              }};
}

}  // namespace pg::lesson13c
