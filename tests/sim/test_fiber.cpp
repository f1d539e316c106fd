// Stack switching on its own: values in registers and on the stack survive any order of switches.
#include <cmath>
#include <memory>
#include <vector>

#include "tensor/sim/fiber.h"
#include "tests/catch.h"

using namespace pg;

namespace {

constexpr int kFibers = 8, kSteps = 1000;
constexpr size_t kBytes = 256 << 10;
void* home;
void* context[kFibers];
int current;
double result[kFibers];

double term(int fiber, int step) { return std::sqrt(static_cast<double>(step) * (fiber + 1)); }

void entry() {
  const int me = current;
  double sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    sum += term(me, step);
    sim::switch_fiber(&context[me], home);
  }
  result[me] = sum;
  for (;;) sim::switch_fiber(&context[me], home);
}

}  // namespace

TEST_CASE("sim: fibers keep their registers and stacks", "[sim]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP_TEST("these bare switches do not tell the sanitizer; the simulator's do");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  SKIP_TEST("these bare switches do not tell the sanitizer; the simulator's do");
#endif
#endif
  std::vector<std::unique_ptr<char[]>> stacks;
  for (int fiber = 0; fiber < kFibers; ++fiber) {
    stacks.emplace_back(new char[kBytes]);
    context[fiber] = sim::prepare_fiber(stacks.back().get(), kBytes, entry);
  }
  for (int turn = 0; turn <= kSteps; ++turn) {
    for (int i = 0; i < kFibers; ++i) {
      current = (i * 3 + turn) % kFibers;
      sim::switch_fiber(&home, context[current]);
    }
  }
  for (int fiber = 0; fiber < kFibers; ++fiber) {
    double sum = 0;
    for (int step = 0; step < kSteps; ++step) sum += term(fiber, step);
    CHECK(result[fiber] == sum);
  }
}
