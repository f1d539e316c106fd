// compared(): advantages of a batch from an estimator of groups.
#include "rl/methods/algorithm.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// The responses of a batch without their prompts: position r of a row is token r of its response. [B, R].
class ResponseView {
 public:
  explicit ResponseView(const Batch& batch) : batch_(batch) {
    for (size_t b = 0; b < batch.prompts.size(); ++b)
      longest_ = std::max(longest_, batch.lengths[b] - batch.prompts[b] + 1);
  }
  int64_t longest() const { return longest_; }
  // [B, T] → [B, R]
  Tensor of(const Tensor& x) const {
    const Tensor y = Tensor::zeros({batch_.size(), longest_}, x.dtype());
    each_row([&](int64_t row, int64_t first, int64_t count) {
      part(y, row, 0, count).copy_from(part(x, row, first, count));
    });
    return y;
  }
  // [B, R] → [B, T], 0 outside the responses.
  Tensor back(const Tensor& x) const {
    const Tensor y = Tensor::zeros(batch_.mask.shape(), x.dtype());
    each_row([&](int64_t row, int64_t first, int64_t count) {
      part(y, row, first, count).copy_from(part(x, row, 0, count));
    });
    return y;
  }

 private:
  static Tensor part(const Tensor& x, int64_t row, int64_t begin, int64_t count) {
    return x.view_slice(0, row, row + 1).view_slice(1, begin, begin + count);
  }
  template <class F>
  void each_row(F f) const {  // f(row, first position that predicts a token of the response, their number)
    for (int64_t row = 0; row < batch_.size(); ++row) {
      const auto b = static_cast<size_t>(row);
      f(row, batch_.prompts[b] - 1, batch_.lengths[b] - batch_.prompts[b] + 1);
    }
  }

  const Batch& batch_;
  int64_t longest_ = 0;
};

}  // namespace

std::function<Tensor(Batch&, const Algorithm&, MovingBaseline&)> compared(Estimator estimator, bool over_batch) {
  return [estimator = std::move(estimator), over_batch](Batch& batch, const Algorithm& a, MovingBaseline&) {
    const int64_t g = over_batch ? batch.size() : batch.samples;
    check(g > 0 && batch.size() % g == 0, "advantages: {} responses are no whole groups of {}", batch.size(), g);
    const Tensor credit = a.credit.compute(batch.reward, batch.mask, a.gamma);
    if (a.credit.whole_response) {
      const Groups groups{
          credit.view_reshape({-1, g}), {}, response_lengths(batch.mask).view_reshape({-1, g}), batch.greedy};
      check(!a.baseline.needs.greedy || batch.greedy.defined(), "advantages: {} needs the greedy rewards",
            a.baseline.name);
      return estimator(groups, a).view_reshape({batch.size(), 1});
    }
    // Compared at equal positions of the responses: [P, G, R] → [P·R, G].
    const ResponseView responses(batch);
    const int64_t longest = responses.longest();
    const auto by_position = [&](const Tensor& x) {
      return responses.of(x).view_reshape({-1, g, longest}).view_transpose(1, 2).clone().view_reshape({-1, g});
    };
    const Tensor compared = estimator({by_position(credit), by_position(batch.mask), {}, {}}, a);
    return responses.back(
        compared.view_reshape({-1, longest, g}).view_transpose(1, 2).clone().view_reshape({batch.size(), longest}));
  };
}

}  // namespace pg::rl
