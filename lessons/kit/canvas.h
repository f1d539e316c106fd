#pragma once
// A grid of dots in the terminal, for plots and sketches.
#include <string>
#include <vector>

#include "lessons/kit/terminal.h"

namespace pg::kit {

void append_utf8(std::string& text, int code);  // a code point from 0x800 to 0xffff

// Braille has 2 × 4 dots per character; ASCII has one, a letter per series.
class Canvas {
 public:
  Canvas(int columns, int rows, bool braille)
      : braille_(braille), columns_(columns), cells_(columns * rows), owner_(columns * rows, -1), rows_(rows) {}
  int width() const { return columns_ * (braille_ ? 2 : 1); }
  int height() const { return rows_ * (braille_ ? 4 : 1); }

  // Sets dot (x, y), counted from the top left, for series `owner`. Lines overwrite the dots of bands.
  void dot(int x, int y, int owner, bool band);
  // Puts a character, from ' ' to '~', where dot (x, y) is, over all dots of that place.
  void put(int x, int y, int owner, char c);
  std::string row(int r) const;
  std::string marker(int owner) const;  // what stands for the series in a legend

 private:
  int cell_of(int x, int y) const { return braille_ ? y / 4 * columns_ + x / 2 : y * columns_ + x; }
  bool inside(int x, int y) const { return x >= 0 && y >= 0 && x < width() && y < height(); }

  bool braille_;
  int columns_;
  std::vector<int> cells_;  // 0, the bits of braille dots, or kCharacter and a character
  std::vector<int> owner_;
  int rows_;
};

}  // namespace pg::kit
