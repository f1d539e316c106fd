// The demonstration of lesson 12, last parts: memory, overlap and many ranks, calculated from models of a step.
#include <algorithm>
#include <cmath>

#include "lessons/12_data_parallel/demo.h"
#include "lessons/kit/plot.h"
#include "nn/ranks/zero_memory.h"
#include "tensor/comm/link_model.h"

namespace pg::lesson12 {
namespace {

constexpr int64_t kVocab = 50257, kContext = 1024, kWidth = 768, kLayers = 12, kAlign = 256;

// GPT-2's gradients as ParamSlab arranges them, each beginning at a multiple of 256 elements.
std::vector<Segment> gpt2_segments() {
  std::vector<Segment> segments;
  const auto add = [&](const std::string& name, int64_t size) {
    const int64_t end = segments.empty() ? 0 : segments.back().end, begin = (end + kAlign - 1) / kAlign * kAlign;
    segments.push_back({name, {size}, begin, begin + size, false});
  };
  const auto add_pair = [&](const std::string& name, int64_t weight, int64_t bias) {
    add(name + ".weight", weight);
    add(name + ".bias", bias);
  };
  add("wte.weight", kVocab * kWidth);
  add("wpe.weight", kContext * kWidth);
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string block = fmt::format("h.{}.", i);
    add_pair(block + "ln_1", kWidth, kWidth);
    add_pair(block + "attn.c_attn", 3 * kWidth * kWidth, 3 * kWidth);
    add_pair(block + "attn.c_proj", kWidth * kWidth, kWidth);
    add_pair(block + "ln_2", kWidth, kWidth);
    add_pair(block + "mlp.c_fc", 4 * kWidth * kWidth, 4 * kWidth);
    add_pair(block + "mlp.c_proj", 4 * kWidth * kWidth, kWidth);
  }
  add_pair("ln_f", kWidth, kWidth);
  return segments;
}
double parameters(const std::vector<Segment>& segments) {
  double n = 0;
  for (const Segment& s : segments) n += static_cast<double>(s.end - s.begin);
  return n;
}

// What the models assume. A matrix of p parameters costs 2·p FLOP per token in forward and 4·p in backward.
constexpr double kFlops = 100e12, kTokens = 8192;
constexpr LinkModel kLink{.alpha = 5e-6, .beta = 25e9};
constexpr int64_t kBucketBytes = 25'000'000;

double head_seconds() { return 4.0 * static_cast<double>(kVocab * kWidth) * kTokens / kFlops; }

std::vector<double> bytes_of(const std::vector<Shard>& ranges) {
  std::vector<double> bytes;
  for (const Shard& range : ranges) bytes.push_back(4.0 * static_cast<double>(range.size()));
  return bytes;
}

// One row of a timeline: each span is drawn with its letter.
std::string drawn(const std::vector<std::pair<double, double>>& spans, double total, bool letters) {
  constexpr int width = 64;
  std::string row(width, '.');
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto begin = static_cast<int>(std::floor(spans[i].first / total * width));
    const auto end = static_cast<int>(std::ceil(spans[i].second / total * width));
    for (int at = begin; at < std::min(end, width); ++at) {
      row[static_cast<size_t>(at)] = letters ? static_cast<char>('a' + i % 26) : '#';
    }
  }
  return row;
}

struct Timeline {
  std::vector<BucketTimes> buckets;
  double backward = 0;
  double end() const { return buckets.empty() ? backward : std::max(backward, buckets.back().end); }
};
// The timeline if the ranges are reduced in this order. A range is complete when backward has passed its beginning.
Timeline timeline_of(const std::vector<Shard>& ranges, const std::vector<Segment>& segments, int ranks) {
  Timeline t;
  const int64_t embeddings = segments.size() > 2 ? segments[2].begin : 0;
  t.backward = head_seconds() + 4.0 * static_cast<double>(segments.back().end - embeddings) * kTokens / kFlops;
  // When backward has come down to an element. To look up an embedding costs almost nothing.
  const auto passed = [&](int64_t element) {
    const int64_t done = segments.back().end - std::max(element, embeddings);
    return head_seconds() + 4.0 * static_cast<double>(done) * kTokens / kFlops;
  };
  std::vector<double> steps;
  double ready = 0;
  for (const Shard& range : ranges) {
    const double at = std::max(ready, passed(range.begin));
    steps.push_back(at - ready);
    ready = at;
  }
  t.buckets = overlapped_times(kLink, ranks, steps, bytes_of(ranges));
  return t;
}

void show_timeline(kit::Demo& demo, const std::string& title, const Timeline& t, double total) {
  std::vector<std::pair<double, double>> spans;
  for (const BucketTimes& b : t.buckets) spans.emplace_back(b.begin, b.end);
  demo.line("{} ({:.1f} ms)", title, 1e3 * t.end());
  demo.line("  backward   {}", drawn({{0, t.backward}}, total, false));
  demo.line("  network    {}", drawn(spans, total, true));
  demo.gap();
}

}  // namespace

void show_overlap(kit::Demo& demo, const Impl& impl) {
  demo.heading("While backward still computes");
  const std::vector<Segment> segments = gpt2_segments();
  const std::vector<Shard> buckets = impl.gradient_buckets(segments, kBucketBytes, 4);
  std::vector<Shard> forward(buckets.rbegin(), buckets.rend());
  constexpr int ranks = 8;
  demo.say(
      "A model, not a measurement. GPT-2 with {:.0f} M parameters on {} ranks, {} tokens each at {:.0f} TFLOP/s. A "
      "message of S bytes takes α + S/β on a link, α = {:.0f} µs, β = {:.0f} GB/s, and a ring all-reduce 2·(n-1)·α + "
      "2·(n-1)/n·S/β. The gradients are f32. Each letter is a bucket of at least {:.0f} MB.",
      parameters(segments) / 1e6, ranks, kTokens, kFlops / 1e12, kLink.alpha * 1e6, kLink.beta / 1e9,
      kBucketBytes / 1e6);
  const Timeline one = timeline_of({{0, segments.back().end}}, segments, ranks);
  const Timeline late = timeline_of(forward, segments, ranks), good = timeline_of(buckets, segments, ranks);
  const double total = std::max({one.end(), late.end(), good.end()});
  show_timeline(demo, "one all-reduce after backward", one, total);
  show_timeline(demo, "buckets in the order of forward", late, total);
  show_timeline(demo, "buckets in the order of backward", good, total);
  const double network = one.end() - one.backward;
  demo.say(
      "In the order of forward the first bucket is the embedding, which is complete last: nothing overlaps, and the "
      "sums "
      "are right. In the order of backward the network works while earlier blocks still compute. What remains is the "
      "embedding. It is the output head too, so backward adds to its gradient at the very beginning and at the very "
      "end.");
  demo.claim("model: network time not hidden", 100 * (good.end() - good.backward) / network, "%", kit::at_most(60));
  demo.claim("model: not hidden in the order of forward", 100 * (late.end() - late.backward) / network, "%",
             kit::at_least(100));
  demo.claim("parameters of GPT-2", parameters(segments), "", kit::equals(124'439'808));
}

void show_memory(kit::Demo& demo, const Impl& impl) {
  demo.heading("Who owns what");
  constexpr int64_t n = 124'439'808;
  constexpr int ranks = 7;
  std::string sizes;
  int64_t next = 0, wrong = 0;
  for (int r = 0; r < ranks; ++r) {
    const Shard shard = impl.shard_of(n, r, ranks, 256);
    wrong += std::abs(shard.begin - next);
    next = shard.end;
    sizes += fmt::format("{}{}", r == 0 ? "" : " ", shard.size());
  }
  wrong += std::abs(n - next);
  demo.say(
      "Every rank keeps the whole optimizer's state, and all of them the same. ZeRO divides it: each rank updates its "
      "own shard, and an all-gather gives the others the result. GPT-2's {} parameters for {} ranks, in units of 256:",
      n, ranks);
  demo.line("{}", sizes);
  demo.gap();
  demo.claim("elements that belong to no rank, or to two", static_cast<double>(wrong), "elements", kit::equals(0));
  demo.gap();
  demo.say(
      "What a rank holds without activations, calculated. Bytes per parameter: bf16 weights 2, f32 gradients 4, f32 "
      "masters and AdamW's two moments 12. Stage 1 divides the last, stage 2 the gradients too, stage 3 all three "
      "(Rajbhandari et al. 2020, who count gradients of 2 bytes).");
  for (const auto& [name, parameters, count] : std::vector<std::tuple<std::string, double, int>>{
           {"124 M on 8 ranks", 124.4e6, 8}, {"7 B on 64 ranks", 7e9, 64}}) {
    std::vector<kit::Bar> bars;
    for (int stage = 0; stage <= 3; ++stage) {
      const double bytes = zero_bytes(parameters, count, stage);
      bars.push_back(
          {stage == 0 ? "all on each" : fmt::format("stage {}", stage), bytes, fmt::format("{:.3g} GB", bytes / 1e9)});
    }
    demo.line("{}", name);
    demo.show(kit::bars(bars));
    demo.gap();
  }
}

void show_scaling(kit::Demo& demo, const Impl& impl) {
  demo.heading("From 2 ranks to 1,024");
  const std::vector<Segment> segments = gpt2_segments();
  const std::vector<Shard> buckets = impl.gradient_buckets(segments, kBucketBytes, 4);
  kit::Series after{.name = "one all-reduce after backward", .y = {}}, during{.name = "buckets, overlapped", .y = {}};
  demo.say(
      "The same model with more ranks, {} tokens on each. Efficiency is the time of forward and backward alone, "
      "divided "
      "by the time of the step with its all-reduce.",
      kTokens);
  demo.line("ranks   one all-reduce   overlapped   latency of a bucket, ms");
  for (int n = 2; n <= 1024; n *= 2) {
    const Timeline one = timeline_of({{0, segments.back().end}}, segments, n);
    const Timeline good = timeline_of(buckets, segments, n);
    const double forward = one.backward / 2;
    after.x.push_back(std::log2(n));
    after.y.push_back((forward + one.backward) / (forward + one.end()));
    during.x.push_back(std::log2(n));
    during.y.push_back((forward + good.backward) / (forward + good.end()));
    demo.line("{:5}   {:14.2f}   {:10.2f}   {:24.2f}", n, after.y.back(), during.y.back(),
              1e3 * 2 * (n - 1) * kLink.alpha);
  }
  demo.gap();
  demo.show(kit::line_plot({after, during}, {.x_label = "log2 of the ranks", .y_label = "efficiency", .height = 10}));
  demo.gap();
  demo.say(
      "The bytes per rank stop growing at 2·S, but the 2·(n-1) latencies go on, once for every bucket: at 1,024 ranks "
      "small buckets lose what overlap had won. So large machines use trees, rings of rings, or larger buckets.");
  const auto best = std::max_element(during.y.begin(), during.y.end() - 4);
  demo.claim("model: best efficiency with overlap", *best, "", kit::at_least(0.7));
}

}  // namespace pg::lesson12
