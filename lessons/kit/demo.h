#pragma once
// The output of a demonstration: text, plots, and claims with measured values.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lessons/kit/band.h"
#include "lessons/kit/settings.h"
#include "lessons/kit/terminal.h"

namespace pg::kit {

// The bound of a claim. It must hold on every supported machine.
struct Bound {
  enum class Kind { at_least, at_most, equal } kind;
  double value;
  bool holds(double measured) const;
  std::string text() const;  // ">= 3"
};
inline Bound at_least(double x) { return {Bound::Kind::at_least, x}; }
inline Bound at_most(double x) { return {Bound::Kind::at_most, x}; }
inline Bound equals(double x) { return {Bound::Kind::equal, x}; }

struct Claim {
  std::string name;
  double value;
  std::string unit;
  Bound bound;
  bool judged = true;  // no claim is, where a setting is not its default
  bool holds() const { return !judged || bound.holds(value); }
};

class Cast;        // lessons/kit/cast.h
class DemoRecord;  // lessons/kit/record.h

// Which parts of a demonstration are shown, and when it waits.
struct Pace {
  int part = 0;  // the number of the first heading that is shown; 0: everything
  // Waits for a line of standard input before each claim, each block of several lines, and the first line after text.
  bool step = false;
  bool quiet = false;  // nothing is printed: the record is sent
  // A recording of what is printed, or null. With a recording the demonstration never waits.
  Cast* cast = nullptr;
};

// Where the bands of a demonstration's curves come from, or go to.
struct BandSource {
  Bands known = {};          // from the lesson's band.csv
  Bands* widened = nullptr;  // if not null, these are widened by the curves, for `seed`
  uint64_t seed = 0;
  std::vector<std::string>* texts = nullptr;  // if not null, gets what is given to watch()
};

class Demo {
 public:
  // What is printed is also kept in `record`, unless it is null. What comes before the heading `pace.part` is computed,
  // but neither printed nor kept, and its claims are not collected.
  explicit Demo(bool full, DemoRecord* record = nullptr, Pace pace = {}, BandSource bands = {}, Settings settings = {})
      : full_(full), record_(record), pace_(pace), bands_(std::move(bands)), settings_(std::move(settings)) {}
  bool full() const { return full_; }  // --full: up to two minutes instead of twenty seconds
  // The value of a setting of the lesson: the default, or the reader's.
  double setting(const std::string& name) const { return settings_[name]; }
  int64_t whole(const std::string& name) const { return static_cast<int64_t>(settings_[name]); }
  // The seeds of what is trained: n from the setting "seed" on, from 1 without it, or a single other one while the
  // bands are made.
  std::vector<uint64_t> seeds(uint64_t n) const;
  bool makes_bands() const { return bands_.widened; }
  // The curve of the first of the seeds, or the mean of all, over the band of ten seeds that band.csv has under its
  // name. With --full, which trains longer, and where other settings give other points, the curve stays as it is.
  Series on_band(Series curve);
  // A quantity of the training step by step, for band.csv and ./lessonN hunt: the means of at most 50 parts. The
  // demonstration does not show it.
  void watch(const std::string& name, const std::vector<double>& values);
  void watch(const std::string& text);  // the same for a text, such as a sample

  void heading(const std::string& text);
  // A paragraph, wrapped to the width, followed by an empty line.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    paragraph(fmt::format(format, std::forward<Args>(args)...));
  }
  // One unwrapped line, indented by two.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    show(fmt::format(format, std::forward<Args>(args)...));
  }
  // A text behind a label, wrapped, and indented by two.
  void item(const std::string& label, const std::string& text);
  // A plot or any block of lines, unwrapped and indented by two.
  void show(const std::string& block);
  void gap();  // an empty line
  // A line that is replaced by the next status or output; shown on a terminal only.
  void status(const std::string& text);
  // A measured value and the bound it must satisfy; printed, and collected for --json.
  void claim(const std::string& name, double value, const std::string& unit, Bound bound);

  const std::vector<Claim>& claims() const { return claims_; }
  const std::vector<OnBand>& on_bands() const { return on_bands_; }
  int headings() const { return headings_; }         // so far, shown or not
  double waited_seconds() const { return waited_; }  // for lines of standard input
  void show_all() { pace_.part = 0; }

 private:
  bool hidden() const { return headings_ < pace_.part; }
  DemoRecord* record() const { return hidden() ? nullptr : record_; }
  // Prints `prompt` and waits for a line, if the pace is by steps. At the end of the input it waits no more.
  void wait(const std::string& prompt);
  void paragraph(const std::string& text);
  void write(const std::string& text);

  bool full_;
  DemoRecord* record_;
  Pace pace_;
  int headings_ = 0;
  double waited_ = 0;
  bool status_shown_ = false, after_text_ = false;
  int line_ends_ = 1;  // at the end of what was printed: 2 after an empty line
  std::vector<Claim> claims_;
  BandSource bands_;
  std::vector<OnBand> on_bands_;
  Settings settings_;
};

}  // namespace pg::kit
