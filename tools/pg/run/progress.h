#pragma once
// How far a long computation is: on a terminal one line that rewrites itself, elsewhere a plain line every tenth.
// Nothing here throws for what cannot be written (tools/pg/run/remark.h).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace pg {

// "8 s", "2 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

class Progress {
 public:
  // Steps [start, total) are to be done. Writes to `out`. `columns` is the width of the terminal that `out` is; 0: it
  // is none. By default the terminal is asked; one that cannot erase a line (TERM=dumb) counts as none.
  Progress(int64_t start, int64_t total, std::FILE* out = stderr);
  Progress(int64_t start, int64_t total, std::FILE* out, int columns);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps of `total` are finished; `status` is shown beside them: "loss 2.310, 51,000 tokens/s". On a terminal
  // the line is cut where it would wrap.
  void update(int64_t done, const std::string& status);
  // A line of its own that stays, however long.
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
