// The model behind pg scale.
#include "tools/pg/scale_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tensor/base/error.h"

namespace pg::tools {
namespace {

struct KnownModel {
  double layers, width;
  // 12·L·d² of the blocks, and the embedding.
  double parameters() const { return 12 * layers * width * width + 50257 * width; }
};
// GPT-2 in its four sizes, then Llama's 7, 13 and 70 billions.
constexpr KnownModel kKnown[] = {{12, 768}, {24, 1024}, {36, 1280}, {48, 1600}, {32, 4096}, {40, 5120}, {80, 8192}};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int64_t count_of(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 7 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int64_t count = digits ? std::atoll(text.c_str()) : 0;
  check(count >= 1, "scale: expected numbers of GPUs such as 8,64 or 8..1024, got \"{}\"", text);
  return count;
}

}  // namespace

double Cluster::reduce_scatter_seconds(double bytes, int64_t gpus) const {
  const int64_t inner = std::min(gpus, per_node), outer = (gpus + inner - 1) / inner;
  return inside.reduce_scatter_seconds(bytes, static_cast<int>(inner)) +
         between.reduce_scatter_seconds(bytes / static_cast<double>(inner), static_cast<int>(outer));
}

ScaledModel ScaledModel::of(double parameters) {
  const auto distance = [&](const KnownModel& m) { return std::abs(std::log(m.parameters() / parameters)); };
  const KnownModel& nearest = *std::min_element(
      std::begin(kKnown), std::end(kKnown), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  // Layers and width grow by one factor f: 12·L·d²·f³ + V·d·f = parameters, solved by bisection.
  double low = 0, high = 100;
  for (int i = 0; i < 100; ++i) {
    const double f = (low + high) / 2;
    (KnownModel{nearest.layers * f, nearest.width * f}.parameters() < parameters ? low : high) = f;
  }
  return {parameters, nearest.layers * low, nearest.width * low};
}

StepModel step_model(const Plan& p, const Cluster& c) {
  const ScaledModel& m = p.model;
  const auto n = static_cast<double>(p.gpus), rounds = static_cast<double>(p.accumulate);
  const double tokens = static_cast<double>(p.rows * p.context);
  const double forward = 2 * m.parameters * tokens / c.flops, backward = (p.checkpoint ? 3 : 2) * forward;
  const double gradients = p.bytes.gradients * m.parameters, weights = p.bytes.weights * m.parameters;
  StepModel s;
  s.compute = rounds * (forward + backward);
  s.update = 30 * m.parameters / (p.zero >= 1 ? n : 1) / c.memory_bandwidth;

  // Sending overlaps `beside` seconds of computing; the last piece is always waited for.
  const auto send = [&](double seconds, double last, double beside) {
    s.sending += seconds;
    s.exposed += p.overlap ? std::max(seconds - beside, last) : seconds;
  };
  const double embedding = m.embedding_share(), block = (1 - embedding) / m.layers;
  if (p.gpus > 1 && p.zero == 0) {
    send(c.all_reduce_seconds(gradients, p.gpus), c.all_reduce_seconds(embedding * gradients, p.gpus), backward);
  } else if (p.gpus > 1) {
    const double reduce = c.reduce_scatter_seconds(gradients, p.gpus), gather = c.all_gather_seconds(weights, p.gpus);
    const double last = c.reduce_scatter_seconds(embedding * gradients, p.gpus);
    const double reductions = p.zero == 1 ? 1 : rounds;  // from stage 2 on no GPU can keep all gradients
    for (int i = 0; i < static_cast<int>(reductions); ++i) {
      if (p.zero < 3) {
        send(reduce, last, backward);
      } else {  // weights are gathered block by block, in forward and again in backward
        send(gather, block * gather, forward);
        send(gather + reduce, last, backward);
      }
    }
    if (p.zero < 3) send(gather, gather, 0);  // after the update
  }

  s.state = zero_bytes(m.parameters, static_cast<int>(p.gpus), p.zero, p.bytes);
  // bf16, attention without T × T: 34·d bytes per token of a block (Korthikanti et al. 2022); logits and their
  // gradient.
  const double of_block = 34 * m.width * tokens;
  s.activations =
      (p.checkpoint ? 2 * m.layers * m.width * tokens + of_block : m.layers * of_block) + 4 * m.vocabulary * tokens;
  s.tokens_per_second = n * rounds * tokens / s.seconds();
  const double most = std::max({s.compute, s.exposed, s.update});
  s.bound = s.state + s.activations > c.memory ? "memory"
            : most == s.compute                ? "compute"
            : most == s.exposed                ? "network"
                                               : "optimizer";
  return s;
}

double parse_parameters(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string unit = text.substr(digits);
  const double factor = unit == "B" ? 1e9 : unit == "M" ? 1e6 : 1;
  const bool number = digits > 0 && digits < 20 && std::count(text.begin(), text.end(), '.') <= 1;
  const double value = number ? factor * std::strtod(text.c_str(), nullptr) : 0;
  check((unit.empty() || unit == "M" || unit == "B") && value >= 1e6 && value <= 1e14,
        "scale: expected numbers of parameters from 1M to 100000B such as 124M,1.5B, got \"{}\"", text);
  return value;
}

std::vector<int64_t> parse_counts(const std::string& text) {
  std::vector<int64_t> counts;
  for (const std::string& part : parts_of(text)) {
    const size_t dots = part.find("..");
    if (dots == std::string::npos) {
      counts.push_back(count_of(part));
      continue;
    }
    const int64_t last = count_of(part.substr(dots + 2));
    int64_t count = count_of(part.substr(0, dots));
    check(count <= last, "scale: the range \"{}\" is empty", part);
    for (; count <= last; count *= 2) counts.push_back(count);
  }
  return counts;
}

}  // namespace pg::tools
