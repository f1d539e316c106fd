#pragma once
// Progress of a long computation: on a terminal one line that is rewritten, otherwise a plain line every tenth. Nothing
// here throws if output cannot be written (tools/pg/run/remark.h).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace pg {

// "8 s", "2 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

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
  // Prints a separate line that is not overwritten, of any length.
  void print(const std::string& line);

 private:
  void erase();
  using Clock = std::chrono::steady_clock;
  int64_t start_, total_, tenth_ = -1;
  std::FILE* out_;
  int columns_;
  bool drawn_ = false;
  Clock::time_point begin_ = Clock::now(), last_;
};

}  // namespace pg
