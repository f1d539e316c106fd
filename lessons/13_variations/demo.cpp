// The demonstration of lesson 13: its parts in order, and what they share.
#include "lessons/13_variations/demo.h"

#include <bit>

#include "lessons/kit/value.h"
#include "tasks/data/stories.h"
#include "tensor/base/parallel.h"

namespace pg::lesson13 {
namespace {

// Models this small are not faster on several cores: their threads would mostly wait for each other.
class OneThread {
 public:
  OneThread() : before_(num_threads()) { set_num_threads(1); }
  ~OneThread() { set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

int64_t different_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous_copy(), y = b.detach().contiguous_copy();
  const auto xs = x.data<const float>(), ys = y.data<const float>();
  int64_t count = 0;
  for (size_t i = 0; i < xs.size(); ++i) count += std::bit_cast<uint32_t>(xs[i]) != std::bit_cast<uint32_t>(ys[i]);
  return count;
}

double relative_difference(const Tensor& a, const Tensor& b) { return kit::relative_error(a.detach(), b.detach()); }

std::string shown(const Stories& stories, const Tensor& ids) {
  std::string text;
  for (const double id : ids.to_vector()) {
    const auto token = static_cast<int32_t>(id);
    const std::string c = token == stories.mask_id() ? "_" : stories.tokenizer.decode({&token, 1});
    text += c == "\n" ? "/" : c;
  }
  return text;
}

std::string grouped(double x) {
  std::string digits = fmt::format("{:.0f}", x);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

void demo(kit::Demo& demo, const Impl& impl) {
  const OneThread one_thread;
  const std::string text = generate_stories();
  CharTokenizer tokenizer(text);
  TextData ids = split_text(tokenizer.encode(text));
  const Stories stories{std::move(tokenizer), std::move(ids)};
  show_positions(demo, impl);
  show_sharing(demo, impl);
  std::vector<Variant> variants = show_models(demo, impl, stories);
  show_lora(demo, impl, stories, variants[1]);
  show_denoiser(demo, impl, stories, variants[3]);
}

}  // namespace pg::lesson13

int main(int argc, char** argv) {
  using namespace pg::lesson13;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = "13",
                                                   .folder = "lessons/13_variations",
                                                   .title = "variations",
                                                   .reference = reference(),
                                                   .checks = checks(),
                                                   .demo = demo},
                             argc, argv);
}
