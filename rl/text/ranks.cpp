// Shares out rollouts, and the numbers per token.
#include "rl/text/ranks.h"

#include <cmath>
#include <limits>

#include "nn/ranks/gradient_sum.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// A response as numbers, without its prompt. Integers and characters are exact as doubles.
class Writer {
 public:
  void number(double x) { all.push_back(x); }
  template <class List>
  void list(const List& values) {
    number(static_cast<double>(values.size()));
    for (const auto value : values) number(static_cast<double>(value));
  }
  std::vector<double> all;
};

// Reads what another rank wrote. Error where that cannot be.
class Reader {
 public:
  explicit Reader(const std::vector<double>& all) : all_(all) {}
  double number() {
    check(at_ < all_.size(), "rollout: another rank sent responses that end too early, after {} numbers", at_);
    return all_[at_++];
  }
  // The length of a list, whose elements have at least one number each.
  size_t length() {
    const double count = number();
    return static_cast<size_t>(whole(count, 0, static_cast<double>(all_.size() - at_)));
  }
  template <class List>
  void list(List& values) {
    using T = typename List::value_type;
    values.resize(length());
    for (T& value : values) {
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(whole(number(), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      } else {
        value = static_cast<T>(number());
      }
    }
  }

 private:
  static double whole(double x, double least, double most) {
    check(x >= least && x <= most && x == std::floor(x),
          "rollout: another rank sent {} in its responses, expected a whole number from {} to {}", x, least, most);
    return x;
  }

  const std::vector<double>& all_;
  size_t at_ = 0;
};

void write(Writer& to, const Response& r) {
  to.list(r.tokens);
  to.list(r.action_mask);
  to.number(r.finished);
  to.list(r.sampler_log_probs);
  to.number(r.score.reward);
  to.number(static_cast<double>(r.score.parts.size()));
  for (const auto& [name, value] : r.score.parts) {
    to.list(name);
    to.number(value);
  }
  to.list(r.score.per_token);
  to.number(r.score.solved);
  to.number(r.score.formatted ? *r.score.formatted : -1);
  to.number(r.entropy);
}

Response read(Reader& from) {
  Response r;
  from.list(r.tokens);
  from.list(r.action_mask);
  r.finished = from.number() != 0;
  from.list(r.sampler_log_probs);
  r.score.reward = from.number();
  r.score.parts.resize(from.length());
  for (auto& [name, value] : r.score.parts) {
    from.list(name);
    value = from.number();
  }
  from.list(r.score.per_token);
  r.score.solved = from.number() != 0;
  if (const double formatted = from.number(); formatted >= 0) r.score.formatted = formatted != 0;
  r.entropy = from.number();
  return r;
}

}  // namespace

std::vector<std::vector<double>> gather_values(Comm& comm, const std::vector<double>& own) {
  const auto ranks = static_cast<size_t>(comm.size()), rank = static_cast<size_t>(comm.rank());
  std::vector<std::vector<double>> sizes(ranks, {0}), all(ranks);
  sizes[rank] = {static_cast<double>(own.size())};
  gather_parts(comm, sizes);
  for (size_t r = 0; r < ranks; ++r) {
    constexpr double most = 1 << 28;  // 2 GB
    check(sizes[r][0] >= 0 && sizes[r][0] <= most, "gather_values: rank {} has {} values, expected 0 to {}", r,
          sizes[r][0], most);
    all[r].resize(static_cast<size_t>(sizes[r][0]));
  }
  all[rank] = own;
  gather_parts(comm, all);
  return all;
}

Experience rollout_on_ranks(Comm& comm, Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                            RolloutOptions options, const Judge& score) {
  const Shard mine = shard_of(std::ssize(problems), comm.rank(), comm.size());
  options.first_row += static_cast<uint64_t>(mine.begin * options.samples);
  Experience own;
  own.samples = options.samples;
  if (mine.size() > 0) {
    own = rollout(policy, task, {problems.begin() + mine.begin, problems.begin() + mine.end}, options);
    const bool stopped = options.should_stop && options.should_stop();
    if (score && !stopped) score(own.responses);
  }
  if (comm.size() == 1) return own;

  Writer writer;
  for (const Response& r : own.responses) write(writer, r);
  const std::vector<std::vector<double>> of_ranks = gather_values(comm, writer.all);
  Experience all;
  all.samples = options.samples;
  all.work = own.work;
  for (int r = 0; r < comm.size(); ++r) {
    const Shard part = shard_of(std::ssize(problems), r, comm.size());
    Reader reader(of_ranks[static_cast<size_t>(r)]);
    for (int64_t row = part.begin * options.samples; row < part.end * options.samples; ++row) {
      all.responses.push_back(read(reader));
      set_problem(all.responses.back(), problems[static_cast<size_t>(row / options.samples)]);
    }
  }
  return all;
}

Metrics evaluate_on_ranks(Comm& comm, Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                          RolloutOptions options, Experience* responses) {
  options.samples = 1;
  options.greedy = options.entropy = true;
  Metrics metrics;
  Experience experience = rollout_on_ranks(comm, policy, task, problems, options);
  add_eval_metrics(metrics, experience);
  if (responses) *responses = std::move(experience);
  return metrics;
}

void share_rows(Comm& comm, const std::vector<Tensor>& tensors, const std::vector<std::vector<size_t>>& rows) {
  if (comm.size() == 1 || tensors.empty()) return;
  const auto columns = static_cast<size_t>(tensors[0].size(1));
  // Calls f(values of one row of a tensor) in one order.
  const auto each_row = [&](const std::vector<size_t>& of_part, const auto& f) {
    for (const Tensor& tensor : tensors) {
      for (const size_t row : of_part) f(tensor.data<double>().subspan(row * columns, columns));
    }
  };
  std::vector<std::vector<double>> parts;
  for (const auto& of_part : rows) {
    std::vector<double>& values = parts.emplace_back();
    each_row(of_part, [&](std::span<double> x) { values.insert(values.end(), x.begin(), x.end()); });
  }
  gather_parts(comm, parts);
  for (size_t i = 0; i < rows.size(); ++i) {
    auto next = parts[i].begin();
    each_row(rows[i], [&](std::span<double> x) {
      std::copy_n(next, columns, x.begin());
      next += static_cast<int64_t>(columns);
    });
  }
}

}  // namespace pg::rl
