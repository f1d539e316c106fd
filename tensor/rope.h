#pragma once
// Options of rotary position embedding, and the frequencies that the kernels of every device share.

namespace pg {

// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) rotates pair i of D/2 by position · base^(-2i/D)
// radians. A factor other than 1 changes these frequencies for longer texts, as Llama 3.1 does: waves longer than
// original_length / low_freq_factor are stretched by the factor, waves shorter than original_length / high_freq_factor
// are kept, and the frequencies between are interpolated linearly.
struct Rope {
  double base = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  double original_length = 8192;  // positions of the first training

  constexpr Rope(double base = 10000) : base(base) {}
  bool operator==(const Rope&) const = default;

  // `plain` is base^(-2i/D); the result is the angle in radians between two neighbouring positions.
  constexpr double frequency(double plain) const {
    if (factor == 1) return plain;
    const double waves = original_length * plain / (2 * 3.14159265358979323846);
    if (waves < low_freq_factor) return plain / factor;
    if (waves > high_freq_factor) return plain;
    const double kept = (waves - low_freq_factor) / (high_freq_factor - low_freq_factor);
    return (1 - kept) * plain / factor + kept * plain;
  }
};

}  // namespace pg
