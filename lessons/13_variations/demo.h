#pragma once
// The demonstration of lesson 13: what its parts share.
#include <string>
#include <vector>

#include "lessons/13_variations/lesson.h"
#include "nn/transformer.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"

namespace pg::lesson13 {

// The built-in stories as characters, nine tenths to learn from.
struct Stories {
  CharTokenizer tokenizer;
  TextData ids;
  int32_t mask_id() const { return static_cast<int32_t>(tokenizer.vocab_size()); }
};

constexpr int64_t kContext = 32, kBatch = 24;

// A model in training, and its validation loss on the way.
struct Variant {
  std::string name;
  Transformer model;
  std::vector<double> steps, losses;  // nats per character; of a denoiser the bound
  double tokens_per_second = 0;
  double loss() const { return losses.back(); }
};
// `steps` training steps, the learning rate falling to a tenth. `losses` gets ten more entries.
void train(kit::Demo& demo, const Impl& impl, const Stories& stories, Variant& variant, int64_t steps);
// Nats per character on the first windows of a text. For a denoiser the bound, with one draw of masks per window.
double loss_of(const Impl& impl, const Stories& stories, const Transformer& model, std::span<const int32_t> text);

// The number of elements whose bits differ in two f32 tensors of equal shape.
int64_t different_bits(const Tensor& a, const Tensor& b);
// The largest difference, divided by the largest value of b.
double relative_difference(const Tensor& a, const Tensor& b);
// Text on one line: "/" for a line end, "_" for the mask.
std::string shown(const Stories& stories, const Tensor& ids);
// "12,345"
std::string grouped(double x);

// The parts, each in a file of its name.
void show_positions(kit::Demo& demo, const Impl& impl);
void show_sharing(kit::Demo& demo, const Impl& impl);
std::vector<Variant> show_models(kit::Demo& demo, const Impl& impl, const Stories& stories);
void show_lora(kit::Demo& demo, const Impl& impl, const Stories& stories, Variant& variant);
void show_denoiser(kit::Demo& demo, const Impl& impl, const Stories& stories, Variant& variant);

}  // namespace pg::lesson13
