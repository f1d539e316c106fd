#pragma once
// The bands of a lesson's band.csv: for each curve of the demonstration that depends on a seed, the lowest and the
// highest value of ten seeds with the reference's pieces. ./lessonN band writes the file.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lessons/kit/plot.h"

namespace pg::kit {

inline constexpr uint64_t kBandSeeds = 10;

struct Band {
  std::vector<double> x, low, high;
};
using Bands = std::map<std::string, Band>;  // by the name of the curve

// Reads "curve,x,low,high" and a row per point. No bands if there is no such file. Throws Error for any other content.
Bands read_bands(const std::string& path);
// Writes the file at once or not at all.
void write_bands(const std::string& path, const Bands& bands);

// Widens the band of the curve's name by a curve of one more seed, which must have the same x, and no comma in its
// name. Throws Error.
void widen(Bands& bands, const Series& curve);

// How much of a curve is inside its band.
struct OnBand {
  std::string name;
  double share;  // of the points, 0 to 1
};
// Whether there is a band of its name, with its x.
bool has_band(const Bands& bands, const Series& curve);
// Puts the band of its name behind a curve. Throws Error if there is none, or if it has other x.
OnBand put_on_band(const Bands& bands, Series& curve);

}  // namespace pg::kit
