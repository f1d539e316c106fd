// Dots as braille or letters.
#include "lessons/kit/canvas.h"

namespace pg::kit {
namespace {

constexpr int kCharacter = 0x100;  // above all combinations of braille dots

Color color_of(int owner) {
  constexpr Color kColors[] = {Color::cyan, Color::yellow, Color::magenta, Color::green, Color::red, Color::blue};
  return kColors[owner % 6];
}
char letter_of(int owner) { return static_cast<char>('a' + owner % 26); }

}  // namespace

void append_utf8(std::string& text, int code) {
  text += static_cast<char>(0xe0 | code >> 12);
  text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
  text += static_cast<char>(0x80 | (code & 0x3f));
}

void Canvas::dot(int x, int y, int owner, bool band) {
  if (!inside(x, y)) return;
  constexpr int kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const int cell = cell_of(x, y);
  if (cells_[cell] >= kCharacter && braille_) return;
  if (braille_) {
    cells_[cell] |= kDots[y % 4][x % 2];
  } else if (!band || cells_[cell] == 0) {
    cells_[cell] = kCharacter + (band ? '.' : letter_of(owner));
  }
  if (!band || owner_[cell] < 0) owner_[cell] = owner;
}

void Canvas::put(int x, int y, int owner, char c) {
  if (!inside(x, y)) return;
  cells_[cell_of(x, y)] = kCharacter + c;
  owner_[cell_of(x, y)] = owner;
}

std::string Canvas::row(int r) const {
  std::string text;
  for (int c = 0; c < columns_; ++c) {
    const int cell = r * columns_ + c, what = cells_[cell];
    std::string glyph = " ";
    if (what >= kCharacter) {
      glyph[0] = static_cast<char>(what - kCharacter);
    } else if (what) {
      glyph.clear();
      append_utf8(glyph, 0x2800 + what);
    }
    text += owner_[cell] < 0 ? glyph : paint(color_of(owner_[cell]), glyph);
  }
  return text;
}

std::string Canvas::marker(int owner) const {
  return paint(color_of(owner), braille_ ? "━━" : std::string(1, letter_of(owner)));
}

}  // namespace pg::kit
