#pragma once
// What the training of a lesson shows with a mistake in it, and whether two such pictures can be told apart.
// lessons/NN_name/hunt.csv has the pictures of the mistakes of lessonN_mutants that ./lessonN hunt asks for.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lessons/kit/band.h"
#include "lessons/kit/demo.h"

namespace pg::kit {

inline constexpr size_t kParts = 5;             // equal parts of a curve, which are compared
inline constexpr uint64_t kPictureSeeds = 3;    // of the pictures in hunt.csv
using Pictures = std::map<std::string, Bands>;  // by the name of the mistake; x is the number of the part

// Widens `into` by the curves of the training for one seed, and appends its texts. Prints nothing.
void add_training(const std::function<void(Demo&)>& train, const Settings& settings, uint64_t seed, Bands& into,
                  std::vector<std::string>& texts);

// The means of the parts of each curve. A mean that is not finite is kNotFinite.
inline constexpr double kNotFinite = 1e300;
Bands in_parts(const Bands& curves);

// Where two pictures differ most: a curve and its part, and the gap between the two ranges there as a share of all
// values that the engine's band has in the curve. A value counts as at most two such ranges outside of it, so that what
// explodes is like what explodes more.
struct Difference {
  std::string curve;
  size_t part = 0;
  double gap = 0;
  bool seen = false;  // in one curve two of five parts have a gap of a tenth or more: an eye sees that in a plot
};
// All three in parts, and with the same curves. Throws Error for other curves.
Difference difference(const Bands& a, const Bands& b, const Bands& engine);

// That place in words, with the numbers of both; both are in parts.
std::string picture_text(const Bands& training, const Bands& engine);

// Reads and writes hunt.csv: the format of band.csv, with "mistake: curve" as the name of a curve.
Pictures read_pictures(const std::string& path);
void write_pictures(const std::string& path, const Pictures& pictures);

// The question that hunt asks for a seed: the mistake, and five causes in the order in which they are shown. Seed N
// takes the N-th mistake of an order that mixes all, so that none comes twice before each has come. The four others
// are drawn among the mistakes whose picture can be told from that of the true one, and whose words differ from those
// of the rest; `words` has them for each mistake. Throws Error if there are no four.
struct HuntQuestion {
  std::string mistake;
  std::vector<std::string> choices;  // names of mistakes
};
HuntQuestion hunt_question(const Pictures& pictures, const Bands& engine, uint64_t seed,
                           const std::function<std::string(const std::string& mistake)>& words);

}  // namespace pg::kit
