// Wrong answers to lesson 3. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/03_language_model/answers.h"

namespace pg::lesson03 {

const kit::Mutants<Impl> mutants = {
    {"adamw_eps_inside", "03.3", "eps stands inside",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const double gradient = a.grad_scale * g[i];
           p[i] -= a.lr * a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
           p[i] -= a.lr * (m[i] / a.bias_correction1) / std::sqrt(v[i] / a.bias_correction2 + a.eps);
         }
       };
     }},
    {"adamw_float", "03.3", "computed in float",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const float gradient = a.grad_scale * g[i];
           p[i] -= a.lr * a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
           const float step = (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
           p[i] -= a.lr * step;
         }
       };
     }},
    {"adamw_l2", "03.3", "the decay went into the gradient",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const double gradient = a.grad_scale * g[i] + a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
           p[i] -= a.lr * (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
         }
       };
     }},
    {"adamw_no_correction", "03.3", "the bias correction is missing",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const double gradient = a.grad_scale * g[i];
           p[i] -= a.lr * a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
           p[i] -= a.lr * m[i] / (std::sqrt(v[i]) + a.eps);
         }
       };
     }},
    {"adamw_unscaled", "03.3", "grad_scale is ignored",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const double gradient = g[i];
           p[i] -= a.lr * a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
           p[i] -= a.lr * (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
         }
       };
     }},
    {"adamw_v_abs", "03.3", "squares of g",
     [](Impl& m) {
       m.adamw = [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                    const AdamWArgs& a) -> void {
         for (size_t i = 0; i < p.size(); ++i) {
           const double gradient = a.grad_scale * g[i];
           p[i] -= a.lr * a.weight_decay * p[i];
           m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
           v[i] = a.beta2 * v[i] + (1 - a.beta2) * std::abs(gradient);
           p[i] -= a.lr * (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
         }
       };
     }},
    {"backward_no_target", "03.2", "is not subtracted",
     [](Impl& m) {
       m.cross_entropy_backward = [](const Tensor& logits, [[maybe_unused]] const Tensor& targets) -> Tensor {
         const double rows = static_cast<double>(logits.size(0));
         return pg::softmax(logits) / rows;
       };
     }},
    {"backward_sign", "03.2", "raising the target",
     [](Impl& m) {
       m.cross_entropy_backward = [](const Tensor& logits, const Tensor& targets) -> Tensor {
         const double rows = static_cast<double>(logits.size(0));
         return (one_hot(targets, logits.size(1), logits.dtype()) - pg::softmax(logits)) / rows;
       };
     }},
    {"backward_sum", "03.2", "divide by their number",
     [](Impl& m) {
       m.cross_entropy_backward = [](const Tensor& logits, const Tensor& targets) -> Tensor {
         const double rows = static_cast<double>(logits.size(0));
         return (pg::softmax(logits) - one_hot(targets, logits.size(1), logits.dtype())) / (rows / rows);
       };
     }},
    {"backward_vocabulary", "03.2", "vocabulary",
     [](Impl& m) {
       m.cross_entropy_backward = [](const Tensor& logits, const Tensor& targets) -> Tensor {
         const double rows = static_cast<double>(logits.size(1));
         return (pg::softmax(logits) - one_hot(targets, logits.size(1), logits.dtype())) / rows;
       };
     }},
    {"filter_k_plus_one", "03.4", "one too many",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const double largest = logits[order[0]];
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k) + 1);
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) / options.temperature);
         }
         const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
         double mass = 0;
         for (size_t i : order) {
           const double before = mass;
           mass += probs[i] / total;
           if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
         }
         const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"filter_not_renormalised", "03.4", "does not sum to 1",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const double largest = logits[order[0]];
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) / options.temperature);
         }
         const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
         double mass = 0;
         for (size_t i : order) {
           const double before = mass;
           mass += probs[i] / total;
           if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
         }
         const double kept = [&] {
           double all = 0;
           for (double x : logits) all += std::exp((x - largest) / options.temperature);
           return all;
         }();
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"filter_overflow", "03.4", "inf or nan",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp(logits[i] / options.temperature);
         }
         const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
         double mass = 0;
         for (size_t i : order) {
           const double before = mass;
           mass += probs[i] / total;
           if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
         }
         const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"filter_p_before_k", "03.4", "must judge what top-k left",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const double largest = logits[order[0]];
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) / options.temperature);
         }
         double total = 0;
         for (double x : logits) total += std::exp((x - largest) / options.temperature);
         double mass = 0;
         for (size_t i : order) {
           const double before = mass;
           mass += probs[i] / total;
           if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
         }
         const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"filter_p_drops_crossing", "03.4", "crosses the line",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const double largest = logits[order[0]];
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) / options.temperature);
         }
         const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
         double mass = 0;
         for (size_t i : order) {
           mass += probs[i] / total;
           if (options.top_p < 1 && mass >= options.top_p) probs[i] = 0;
         }
         const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"filter_temperature_times", "03.4", "divide",
     [](Impl& m) {
       m.filtered_probs = [](std::span<const double> logits, const SampleOptions& options) -> std::vector<double> {
         const size_t n = logits.size();
         std::vector<size_t> order(n);  // most probable first
         std::iota(order.begin(), order.end(), size_t{0});
         std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
         const double largest = logits[order[0]];
         const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
         const double threshold = logits[order[k - 1]];

         std::vector<double> probs(n, 0);
         for (size_t i = 0; i < n; ++i) {
           if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) * options.temperature);
         }
         const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
         double mass = 0;
         for (size_t i : order) {
           const double before = mass;
           mass += probs[i] / total;
           if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
         }
         const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
         for (double& p : probs) p /= kept;
         return probs;
       };
     }},
    {"sample_at_most", "03.5", "compare with <",
     [](Impl& m) {
       m.sample_token = [](std::span<const double> probs, double u) -> int32_t {
         double sum_so_far = 0;
         int32_t last = 0;
         for (size_t i = 0; i < probs.size(); ++i) {
           if (probs[i] == 0) continue;
           sum_so_far += probs[i];
           last = static_cast<int32_t>(i);
           if (u <= sum_so_far) break;
         }
         return last;
       };
     }},
    {"sample_last", "03.5", "must catch the rest",
     [](Impl& m) {
       m.sample_token = [](std::span<const double> probs, double u) -> int32_t {
         double sum_so_far = 0;
         int32_t last = 0;
         for (size_t i = 0; i < probs.size(); ++i) {
           if (probs[i] == 0) continue;
           sum_so_far += probs[i];
           last = static_cast<int32_t>(i);
           if (u < sum_so_far) return last;
         }
         return 0;
       };
     }},
    {"sample_zero", "03.5", "probability 0",
     [](Impl& m) {
       m.sample_token = [](std::span<const double> probs, double u) -> int32_t {
         double sum_so_far = 0;
         int32_t last = 0;
         for (size_t i = 0; i < probs.size(); ++i) {
           sum_so_far += probs[i];
           last = static_cast<int32_t>(i);
           if (u <= sum_so_far) break;
         }
         return last;
       };
     }},
    {"softmax_columns", "03.1", "the columns sum to 1",
     [](Impl& m) {
       m.softmax = [](const Tensor& x) -> Tensor {
         const Tensor e = exp(x - amax(x));
         return e / sum(e, {0}, true);
       };
     }},
    {"softmax_float", "03.1", "computed in float",
     [](Impl& m) {
       m.softmax = [](const Tensor& x) -> Tensor {
         const Tensor e = exp((x - amax(x, {-1}, true)).to(f32));
         return (e / sum(e, {-1}, true)).to(f64);
       };
     }},
    {"softmax_overflow", "03.1", "exp overflows",
     [](Impl& m) {
       m.softmax = [](const Tensor& x) -> Tensor {
         const Tensor e = exp(x);
         return e / sum(e, {-1}, true);
       };
     }},
    {"softmax_unnormalised", "03.1", "nothing is divided",
     [](Impl& m) { m.softmax = [](const Tensor& x) -> Tensor { return exp(x); }; }},
};

}  // namespace pg::lesson03
