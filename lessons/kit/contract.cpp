// Comparisons that every check makes of a learner's piece.
#include "lessons/kit/contract.h"

#include <cstring>
#include <mutex>

#include "lessons/kit/saboteur.h"

namespace pg::kit {
namespace {

std::mutex mutex;  // a check may call a piece from several threads
std::optional<Breach> first;

}  // namespace

std::optional<Breach> contract_breach() {
  const std::lock_guard lock(mutex);
  return first;
}
void begin_contract() {
  const std::lock_guard lock(mutex);
  first.reset();
}
void report_breach(const Breach& breach) {
  const std::lock_guard lock(mutex);
  if (!first) first = breach;
}

void Snapshot::add(const Tensor& x) {
  if (!x.defined() || !x.device().on_host()) return;
  owners_.push_back(x.detach());
  add(owners_.back().view());
}
void Snapshot::add(const View& x) {
  if (x.numel() > 0 && x.contiguous()) contents_.emplace_back(x, bytes_of(x));
}
void Snapshot::restore() const {
  for (const auto& [x, bytes] : contents_) {
    if (bytes_of(x) != bytes) std::memcpy(x.data, bytes.data(), bytes.size());
  }
}
std::vector<bool> Snapshot::unchanged() const {
  std::vector<bool> same;
  for (const auto& [x, bytes] : contents_) same.push_back(bytes_of(x) == bytes);
  return same;
}

void compare_results(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    if (!got[i].defined() || !want[i].defined()) continue;
    const std::string which = got.size() == 1 ? "the result" : fmt::format("tensor {} of the result", i + 1);
    if (got[i].dtype() != want[i].dtype()) {
      report_breach({which + ": dtype", fmt::format("{}", got[i].dtype()), fmt::format("{}", want[i].dtype()),
                     "the numbers are right, the dtype is not: later ops would refuse it"});
    }
    if (want[i].requires_grad() && !got[i].requires_grad()) {
      report_breach({which, "no tape", "a tensor on the tape",
                     "no gradient arrives: use ops all the way, no detach() and no data()"});
    }
  }
}

}  // namespace pg::kit
