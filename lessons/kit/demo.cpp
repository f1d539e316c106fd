// Prints a demonstration: paragraphs, lines, plots, claims.
#include "lessons/kit/demo.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "lessons/kit/cast.h"
#include "lessons/kit/record.h"
#include "tensor/base/clock.h"

namespace pg::kit {
namespace {

// Reads to the end of a line, byte by byte: what follows is left to the process that reads next. False: no line is
// left.
bool skip_line() {
  for (char c;;) {
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    if (c == '\n') return true;
  }
}

// A whole number in full, any other with `digits` significant digits.
std::string claimed(double x, int digits) {
  constexpr int kWhole = 10;
  return fmt::format("{:.{}g}", x, x == std::round(x) ? kWhole : digits);
}

}  // namespace

bool Bound::holds(double measured) const {
  switch (kind) {
    case Kind::at_least:
      return measured >= value;
    case Kind::at_most:
      return measured <= value;
    case Kind::equal:
      return measured == value;
  }
  return false;
}

std::string Bound::text() const {
  const char* sign = kind == Kind::at_least ? ">=" : kind == Kind::at_most ? "<=" : "=";
  return fmt::format("{} {}", sign, claimed(value, 6));
}

std::vector<uint64_t> Demo::seeds(uint64_t n) const {
  if (makes_bands()) return {bands_.seed};
  const uint64_t first = settings_.has("seed") ? static_cast<uint64_t>(whole("seed")) : 1;
  std::vector<uint64_t> all;
  for (uint64_t seed = first; seed < first + n; ++seed) all.push_back(seed);
  return all;
}

Series Demo::on_band(Series curve) {
  if (makes_bands()) widen(*bands_.widened, curve);
  const bool other = !settings_.changes().empty() && !has_band(bands_.known, curve);  // such as fewer steps
  if (!makes_bands() && !full_ && !other) on_bands_.push_back(put_on_band(bands_.known, curve));
  return curve;
}

void Demo::watch(const std::string& name, const std::vector<double>& values) {
  if (!makes_bands()) return;
  constexpr size_t kPoints = 50;
  Series curve{.name = name, .y = thinned(values, kPoints)};
  for (size_t i = 0; i < curve.y.size(); ++i) {
    curve.x.push_back(static_cast<double>(i * values.size() / curve.y.size()));
  }
  widen(*bands_.widened, curve);
}

void Demo::watch(const std::string& text) {
  if (bands_.texts) bands_.texts->push_back(text);
}

void Demo::write(const std::string& text) {
  if (hidden() || pace_.quiet) return;
  if (status_shown_) std::fputs("\r\x1b[K", stdout);
  status_shown_ = false;
  std::string shown;
  for (const char c : readable(text)) {  // of several empty lines only one is printed
    if (c == '\n' && line_ends_ == 2) continue;
    line_ends_ = c == '\n' ? line_ends_ + 1 : 0;
    shown += c;
  }
  if (pace_.cast) pace_.cast->text(shown);
  std::fputs(shown.c_str(), stdout);
  std::fflush(stdout);
}

void Demo::wait(const std::string& prompt) {
  if (hidden()) return;
  if (pace_.cast) return pace_.cast->prompt(prompt);
  if (!pace_.step) return;
  const bool terminal = isatty(STDIN_FILENO);
  if (terminal) tcflush(STDIN_FILENO, TCIFLUSH);  // what was typed before the prompt is no answer to it
  const int ends_before = line_ends_;
  write(prompt);
  const Timer timer;
  pace_.step = skip_line();
  waited_ += timer.seconds();
  // On a terminal Enter has begun a new line; the prompt is erased.
  write(!terminal || !pace_.step ? "\n" : style().live ? "\x1b[1A\r\x1b[K" : "");
  line_ends_ = terminal && pace_.step && style().live ? ends_before : 1;
}

void Demo::heading(const std::string& text) {
  ++headings_;
  if (record()) record()->heading(text);
  const int rule = std::max(0, style().width - text_width(text) - 4);
  std::string dashes;
  for (int i = 0; i < rule; ++i) dashes += style().unicode ? "─" : "-";
  write(fmt::format("\n{} {} {}\n\n", paint(Color::grey, style().unicode ? "──" : "--"), paint(Color::bold, text),
                    paint(Color::grey, dashes)));
}

void Demo::paragraph(const std::string& text) {
  if (record()) record()->text(text);
  after_text_ = true;
  write(wrapped(text) + "\n");
}

void Demo::show(const std::string& block) {
  const bool several = block.find('\n') < block.find_last_not_of('\n') + 1;
  if (several || after_text_) wait("  [Enter] ");
  after_text_ = false;
  if (record()) record()->block(block);
  std::istringstream lines(block);
  std::string line, text;
  while (std::getline(lines, line)) text += line.empty() ? "\n" : "  " + line + "\n";
  write(text);
}

void Demo::item(const std::string& label, const std::string& text) {
  std::istringstream lines(wrapped(text, 2, label));
  std::string line, block;
  while (std::getline(lines, line)) block += line.substr(2) + "\n";
  show(block);
}

void Demo::gap() { write("\n"); }

void Demo::status(const std::string& text) {
  if (record()) record()->status(text);
  if (!style().live || pace_.quiet) return;
  std::fputs(("\r\x1b[K" + text).c_str(), stdout);
  std::fflush(stdout);
  status_shown_ = true;
}

void Demo::claim(const std::string& name, double value, const std::string& unit, Bound bound) {
  if (hidden()) return;
  wait(fmt::format("  {}: ?  [Enter] ", name));
  after_text_ = false;
  claims_.push_back({name, value, unit, bound, settings_.changes().empty()});
  const bool ok = claims_.back().holds(), judged = claims_.back().judged;
  if (record()) record()->claim(claims_.back());
  const std::string mark = !judged ? "measured   "
                           : ok    ? paint(Color::green, "claim holds")
                                   : paint(Color::red, "claim FAILS");
  const std::string measured = fmt::format("{}{}{}", claimed(value, 4), unit.empty() ? "" : " ", unit);
  constexpr int kMark = 15;  // "  claim holds  "
  const bool fits = kMark + text_width(fmt::format("{}: {}  (bar {})", name, measured, bound.text())) <= style().width;
  const std::string between = fits ? " " : fmt::format("\n{:{}}", "", kMark);
  write(fmt::format("  {}  {}:{}{}  (bar {})\n", mark, name, between, paint(Color::bold, measured), bound.text()));
}

}  // namespace pg::kit
