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
  double wrong = 0;
  for (const unsigned some : {blocks, 3u}) {
    for (const float visits : impl.visits(some, n)) wrong += visits != 1;
  }
  demo.say(
      "{} elements, one thread each: {} blocks of 256 threads. A warp is 32 threads that run together. Memory moves in "
      "sectors of 32 bytes: a sector is moved whole, even if the warp uses four bytes of it.",
      n, blocks);
  if (counts_traffic()) {
    const auto line = [&](const char* what, const Traffic& t) {
      demo.line("{:44}{:17.1f}{:8.0f} %", what, double(t.sectors) / double(t.accesses), 100 * t.used());
    };
    demo.line("{:44}{:>17}{:>10}", "an access of a warp", "sectors moved", "used");
    line("neighbouring threads, neighbouring elements", traffic_of([&] { impl.visits(blocks, n); }));
    line("neighbouring threads, elements 40 apart", traffic_of([&] { visits_far_apart(blocks, n); }));
    demo.gap();
  }
  demo.claim("elements not visited exactly once, by 40 blocks and by 3", wrong, fmt::format("of {}", n),
             kit::equals(0));
}

void show_banks(kit::Demo& demo, const Impl& impl) {
  demo.heading("Thirty-two banks");
  Generator random(5);
  const Matrix x = random_matrix(256, 256, random);
  Matrix y;
  const Traffic t = traffic_of([&] { y = impl.transpose(x); });
  const Traffic slow = traffic_of([&] { transpose_one_bank(x); });
  double wrong = 0;
  for (int64_t i = 0; i < 256 * 256; ++i) wrong += y.v[i] != x.v[i % 256 * 256 + i / 256];
  demo.say(
      "A transpose reads rows and writes columns. With a tile of 32 x 32 in shared memory both are coalesced, but a "
      "warp then reads a column of the tile. With rows of 32 words that column lies in one bank, with rows of 33 words "
      "in all 32 banks.");
  if (counts_traffic()) {
    const auto line = [&](const char* what, const Traffic& of) {
      demo.line("{:17}{:9}{:8}{:15}{:13.0f} %", what, of.shared_accesses, of.passes, of.ways, 100 * of.used());
    };
    demo.line("{:17}{:>9}{:>8}{:>15}{:>15}", "shared memory", "accesses", "passes", "ways at worst", "sectors used");
    line("rows of 32 words", slow);
    line("11.5", t);
    demo.gap();
    demo.claim("passes for the worst access", t.ways, "", kit::equals(1));
  } else if (on_gpu()) {
    demo.line("rows of 32 words: {:.1f} us; 11.5: {:.1f} us", 1e6 * slow.seconds, 1e6 * t.seconds);
    demo.gap();
  }
  demo.claim("numbers in the wrong place", wrong, "of 65536", kit::equals(0));
}

void show_race(kit::Demo& demo) {
  demo.heading("A race");
  if (!counts_traffic()) {
    demo.say("The tiles of the shared product without the second barrier: {}.",
             on_gpu() ? "a GPU reports nothing, and its result is usually right; `make lesson11` without CUDA=1 runs "
                        "the kernel in the simulator, which reports the race"
                      : "this build has a sanitizer in place of the simulator's checks and cannot find the race");
    return;
  }
  demo.say(
      "The tiled product again, without the second of its two barriers: a fast thread overwrites the tile while a slow "
      "thread still reads it. On a GPU the result is usually right. The simulator reports:");
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
  demo.heading("What the tables show");
  if (on_gpu()) {
    demo.say("On this machine's {}.", gpu_name());
  } else {
    demo.say(
        "No GPU is needed: the simulator runs the kernels on the CPU and counts their accesses to memory. A bound is "
        "the least time that an {} can take, from its data sheet: {:.2f} TB/s, {} TFLOP/s in f32, {} multiprocessors "
        "at {} GHz.",
        kCard.name, 1e-3 * kCard.gigabytes_per_second, kCard.teraflops, kCard.multiprocessors, kCard.gigahertz);
    demo.say(
        "Each table shows one kernel in steps. Bytes are counted without a cache: what is read twice is moved twice. "
        "Ways is the largest number of passes of one access to shared memory; 0 if there was no access.");
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
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = "11",
                                                   .folder = "lessons/11_cuda",
                                                   .title = "CUDA",
                                                   .reference = reference(),
                                                   .learner = learner(),
                                                   .checks = checks(),
                                                   .demo = demo,
                                                   .exercise = "exercise.cu",
                                                   .unavailable = why_unavailable,
                                                   .checks_accesses = counts_traffic},
                             argc, argv);
}
