// A lesson of two pieces, for lessons/kit/test/runner.sh.
#include "lessons/kit/lesson.h"

namespace pg::mini {

double twice(double x);
double thrice(double x);

struct Impl {
  double (*twice)(double);
  double (*thrice)(double);
};

void demo(kit::Demo& demo, const Impl& impl) {
  demo.heading("Two");
  demo.say("Lines:");
  demo.line("first line");
  demo.line("second line");
  demo.claim("twice 5", impl.twice(5), "", kit::equals(10));
  demo.heading("Three");
  demo.show("five\nfifteen");
  demo.claim("thrice 5", impl.thrice(5), "", kit::equals(15));
  if (impl.twice(6) == 13) fail("mul: dtypes differ");  // as the engine does for a result of the wrong type
}

// `seed` 0: the fixed input 2.
kit::Check<Impl> check(const char* id, kit::Piece<Impl> piece, double factor, double (*Impl::*function)(double),
                       uint64_t seed = 0) {
  return {.id = id,
          .title = piece.name,
          .piece = piece,
          .section = "Mini",
          .why = "",
          .hints = {"first", "second", "third"},
          .solution = {},
          .run = [=](kit::Grader& g, const Impl& impl) {
            const double x = seed == 0 ? 2 : static_cast<double>(kit::draws(seed).integer(1000000));
            g.equal(fmt::format("x = {}", x), (impl.*function)(x), factor * x);
          }};
}

}  // namespace pg::mini

int main(int argc, char** argv) {
  using namespace pg::mini;
  const Impl engine{[](double x) { return 2 * x; }, [](double x) { return 3 * x; }};
  return pg::kit::run_lesson<Impl>(
      {.number = "1",
       .folder = "lessons/01_mini",
       .title = "mini",
       .reference = engine,
       .learner = {twice, thrice},
       .checks = {check("01.1", pg::kit::piece<&Impl::twice>("twice"), 2, &Impl::twice),
                  check("01.2", pg::kit::piece<&Impl::thrice>("thrice"), 3, &Impl::thrice, 12)},
       .demo = demo},
      argc, argv);
}
