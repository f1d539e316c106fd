#pragma once
// Status text of a long computation, which is not part of its result: remarks such as file locations, and progress.
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/base/clock.h"

namespace pg {

// Writes the text to `out` at once. It never throws and reports no failure: if the disk is full, the terminal is closed
// or nobody reads the pipe, the text is lost, and the computation continues. (With a broken pipe, SIGPIPE must be
// ignored.)
void write_remark(std::FILE* out, std::string_view text) noexcept;

// From now on every line of this process's remarks begins with the text, goes to standard error and is never rewritten,
// so that the lines of several processes can be mixed. Empty: as at the beginning.
void set_remark_prefix(std::string prefix);

template <class... Args>
void remark(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_remark(out, fmt::format(format, std::forward<Args>(args)...));
}

// "8 s", "2 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

// On a terminal one line that is rewritten, otherwise a plain line every tenth. Like write_remark(), nothing here
// throws if output cannot be written.
class Progress {
 public:
  // The steps are [start, total). Writes to `out`. `columns` is the width of the terminal `out`, or 0 if `out` is no
  // terminal. By default it is read from the terminal; a terminal that cannot erase a line (TERM=dumb) counts as none.
  Progress(int64_t start, int64_t total, std::FILE* out = stderr);
  Progress(int64_t start, int64_t total, std::FILE* out, int columns);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps of `total` are finished. `status` is shown next to them: "loss 2.310, 51,000 tokens/s". On a terminal
  // the line is cut where it would wrap.
  void update(int64_t done, const std::string& status);
  // Prints a separate line that is not overwritten, of any length. On a terminal it is for_terminal() of the line,
  // because it may contain a text of a model.
  void print(const std::string& line);

 private:
  void erase();
  int64_t start_, total_, tenth_ = -1;
  std::FILE* out_;
  int columns_;
  bool drawn_ = false;
  Timer timer_;
  double last_ = 0;  // seconds when the line was drawn
};

}  // namespace pg
