// The demonstration of lesson 11.
#include <algorithm>

#include "lessons/11_cuda/cards.h"
#include "lessons/11_cuda/lesson.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

void show_grid(kit::Demo& demo, const Impl& impl) {
  demo.heading("Which thread does what");
  constexpr int64_t n = 10000;
  const unsigned blocks = impl.blocks_for(n);
  Numbers few, all;
  Traffic traffic;
  {
    const Meter meter;
    all = impl.visits(blocks, n);
    traffic = meter.traffic();
  }
  few = impl.visits(3, n);
  double wrong = 0;
  for (size_t i = 0; i < few.size(); ++i) wrong += few[i] != 1;
  if (counts_traffic()) {
    for (float visits : all) wrong += visits != 1;  // on a card the measurement repeats the kernel
  }
  demo.say(
      "{} elements, one thread each: {} blocks of 256 threads. A warp is 32 threads that go together; what they read "
      "is "
      "moved in sectors of 32 bytes, whether it is wanted or not.",
      n, blocks);
  if (counts_traffic()) {
    demo.line("one access of a warp to 32 neighbouring floats: {:.1f} sectors, {:.0f} % of them used",
              double(traffic.sectors) / double(traffic.accesses), 100 * traffic.used());
    demo.line("one access to 32 floats that are 32 bytes apart or more: 32 sectors, 12 % of them used");
  }
  demo.gap();
  demo.claim("elements not visited exactly once, by 40 blocks and by 3", wrong, fmt::format("of {}", n),
             kit::equals(0));
}

void show_banks(kit::Demo& demo, const Impl& impl) {
  demo.heading("Thirty-two banks");
  Generator random(5);
  const Matrix x = random_matrix(256, 256, random);
  const Meter meter;
  const Matrix y = impl.transpose(x);
  const Traffic t = meter.traffic();
  double wrong = 0;
  for (int64_t i = 0; i < 256 * 256; ++i) wrong += y.v[i] != x.v[i % 256 * 256 + i / 256];
  if (counts_traffic()) {
    demo.say(
        "A transpose reads rows and writes columns. Through a tile in shared memory both are coalesced: {:.0f} % of {} "
        "sectors used. Rows of 33 words put a column's 32 words into 32 banks: {} accesses to shared memory, {} "
        "passes. "
        "With rows of 32 words a column would lie in one bank: 32 passes for each of half of the accesses.",
        100 * t.used(), t.sectors, t.shared_accesses, t.passes);
    demo.claim("passes for the worst access", t.ways, "", kit::equals(1));
  } else if (on_card()) {
    demo.line("transpose [256, 256]: {:.1f} us", 1e6 * t.seconds);
  }
  demo.claim("numbers in the wrong place", wrong, "of 65536", kit::equals(0));
}

void show_race(kit::Demo& demo) {
  demo.heading("A race, planted");
  if (!counts_traffic()) {
    demo.say("The tiles of the shared product without the second barrier: {}.",
             on_card()
                 ? "a card says nothing, and is right on most days; `make lesson11` without CUDA=1 runs it in the "
                   "simulator, which does"
                 : "this build has a sanitizer in place of the simulator's own checks, and cannot see it");
    return;
  }
  demo.say(
      "The tiled product again, with one of its two barriers left out: a thread that is early overwrites the tile that "
      "a late one still reads. On a card the result is right on most days. The simulator says:");
  Generator random(6);
  const Matrix x = random_matrix(32, 32, random);
  std::string found;
  try {
    matmul_racing(x, x);
  } catch (const Error& error) {
    found = error.what();
  }
  demo.say("{}", found);
  demo.claim("races found", found.find("race:") != std::string::npos, "of 1", kit::equals(1));
}

}  // namespace

void demo(kit::Demo& demo, const Impl& impl) {
  if (on_card()) {
    demo.say("On this machine's {}.", card_name());
  } else {
    demo.say(
        "No GPU is needed: the simulator runs the kernels on the CPU and counts what they do to memory. Floors are "
        "what "
        "an {} cannot beat, from its data sheet: {:.2f} TB/s, {} TFLOP/s in f32, {} multiprocessors at {} GHz.",
        kCard.name, 1e-3 * kCard.gigabytes_per_second, kCard.teraflops, kCard.multiprocessors, kCard.gigahertz);
    demo.say(
        "Each table shows one kernel in steps. Bytes are counted without a cache: what is read twice is moved twice. "
        "Ways are the passes that the worst access to shared memory takes; 0, none was made.");
    if (!counts_traffic()) demo.say("This build has a sanitizer, so accesses are not counted.");
  }
  show_grid(demo, impl);
  demo.claim("largest error of all kernels, against the engine on the CPU", show_kernels(demo, impl), "",
             kit::at_most(1e-5));
  show_banks(demo, impl);
  show_race(demo);
}

}  // namespace pg::lesson11

int main(int argc, char** argv) {
  using namespace pg::lesson11;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = 11,
                                                   .folder = "lessons/11_cuda",
                                                   .title = "CUDA",
                                                   .reference = reference(),
                                                   .learner = learner(),
                                                   .checks = checks(),
                                                   .demo = demo,
                                                   .exercise = "exercise.cu",
                                                   .unavailable = why_unavailable},
                             argc, argv);
}
