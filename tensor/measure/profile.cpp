// Counts calls, seconds, floating-point operations and bytes of each kernel while a Profile is alive.
#include "tensor/measure/profile.h"

#include <algorithm>

#include "tensor/base/clock.h"
#include "tensor/format.h"

namespace pg {
namespace {

enum Index : int {
#define KERNEL(name, parameters) k_##name,
#include "tensor/kernels.def"
  kCount
};

ProfileEntry counters[kCount] = {
#define KERNEL(name, parameters) {#name},
#include "tensor/kernels.def"
};
bool active = false, plain_only = false;

template <class T>
double bytes_of(const T&) {
  return 0;
}
double bytes_of(const View& view) {
  return view ? static_cast<double>(view.numel()) * static_cast<double>(size_of(view.dtype)) : 0;
}

template <class... Args>
double flops_of(const Args&...) {
  return 0;
}
double flops_of(const View& c, const View& a, const View&, const MatmulArgs&) {
  return 2.0 * static_cast<double>(c.numel()) * static_cast<double>(a.shape.back());
}
double flops_of(const View& c, const View&, const View& x, const View&, const View&, const NormMatmulArgs&) {
  return 2.0 * static_cast<double>(c.numel()) * static_cast<double>(x.shape.back());
}
// Two matrix products over the keys that a query attends to; a causal query attends to half of the last T keys on
// average.
double attention_flops(const View& q, const View& k, bool causal) {
  const double keys = static_cast<double>(k.shape[2]) - (causal ? 0.5 * static_cast<double>(q.shape[2]) : 0);
  return 4.0 * static_cast<double>(q.numel()) * keys;
}
double flops_of(const View&, const View&, const View& q, const View& k, const View&, const AttentionArgs& args) {
  return attention_flops(q, k, args.causal);
}
double flops_of(const View&, const View&, const View& q, const View& k, const View&, const View&, const View&,
                const View&, const AttentionArgs& args) {
  return attention_flops(q, k, args.causal);
}
// Backward computes the scores again: five matrix products instead of two.
double flops_of(const View&, const View&, const View&, const View&, const View&, const View&, const View& q,
                const View& k, const View&, const AttentionArgs& args, double) {
  return 2.5 * attention_flops(q, k, args.causal);
}

template <auto Member, int Kernel, const Kernels& (*Table)()>
struct Timed;
template <class... Args, void (*Kernels::*Member)(Args...), int Kernel, const Kernels& (*Table)()>
struct Timed<Member, Kernel, Table> {
  static void call(Args... args) {
    const Timer timer;
    (Table().*Member)(args...);
    ProfileEntry& entry = counters[Kernel];
    ++entry.calls;
    entry.seconds += timer.seconds();
    entry.flops += flops_of(args...);
    entry.bytes += (bytes_of(args) + ...);
  }
};

template <const Kernels& (*Table)()>
const Kernels timed = {
#define KERNEL(name, parameters) .name = &Timed<&Kernels::name, k_##name, Table>::call,
#include "tensor/kernels.def"
};

}  // namespace

Profile::Profile() {
  check(!active, "Profile: another profile is already running");
  for (ProfileEntry& entry : counters) entry = {entry.kernel};
  active = true;
}
Profile::~Profile() { active = false; }

double profiled_flops() {
  double sum = 0;
  for (const ProfileEntry& entry : counters) sum += entry.flops;
  return active ? sum : 0;
}

void use_plain_kernels(bool on) { plain_only = on; }

const Kernels& host_kernels(bool plain) {
  plain = plain || plain_only;
  if (!active) return plain ? plain_kernels() : cpu_kernels();
  return plain ? timed<plain_kernels> : timed<cpu_kernels>;
}

std::vector<ProfileEntry> Profile::entries() const {
  std::vector<ProfileEntry> used;
  for (const ProfileEntry& entry : counters) {
    if (entry.calls > 0) used.push_back(entry);
  }
  std::sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return used;
}

std::string Profile::table() const {
  const auto used = entries();
  double total = 0;
  for (const auto& entry : used) total += entry.seconds;
  std::string text =
      fmt::format("{:<24}{:>8}{:>10}{:>8}{:>10}{:>8}\n", "kernel", "calls", "ms", "share", "GFLOP/s", "GB/s");
  for (const auto& entry : used) {
    const std::string rate = entry.flops > 0 ? fmt::format("{:.1f}", entry.flops / entry.seconds * 1e-9) : "";
    text += fmt::format("{:<24}{:>8}{:>10.2f}{:>7.1f}%{:>10}{:>8.1f}\n", entry.kernel, entry.calls, entry.seconds * 1e3,
                        100 * entry.seconds / total, rate, entry.bytes / entry.seconds * 1e-9);
  }
  return text;
}

}  // namespace pg
