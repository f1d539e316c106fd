#include "nn/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace pg {

namespace {
volatile std::sig_atomic_t interrupt_flag = 0;

void on_interrupt(int) {
  interrupt_flag = 1;
  std::signal(SIGINT, SIG_DFL);
}
}  // namespace

std::string format_duration(double seconds) {
  const auto s = static_cast<int64_t>(std::lround(std::max(0.0, seconds)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
}

Progress::Progress(int64_t start, int64_t total, std::FILE* out)
    : Progress(start, total, out, isatty(fileno(out)) == 1) {}

Progress::Progress(int64_t start, int64_t total, std::FILE* out, bool terminal)
    : start_(start), total_(total), out_(out), terminal_(terminal) {}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', out_);
}

void Progress::update(int64_t done, const std::string& status) {
  const auto now = Clock::now();
  const int64_t tenth = total_ > 0 ? done * 10 / total_ : 10;
  const bool draw =
      terminal_ ? !drawn_ || done == total_ || now - last_ > std::chrono::milliseconds(100) : tenth > tenth_;
  if (!draw) return;
  last_ = now;
  tenth_ = tenth;

  std::string line = fmt::format("{:3}%  step {}/{}  {}", total_ > 0 ? done * 100 / total_ : 100, done, total_, status);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (done == total_)
    line += fmt::format("  took {}", format_duration(seconds));
  else if (done > start_)
    line += fmt::format("  {} left", format_duration(seconds * static_cast<double>(total_ - done) /
                                                     static_cast<double>(done - start_)));
  erase();
  fmt::print(out_, "{}{}", line, terminal_ ? "" : "\n");
  std::fflush(out_);
  drawn_ = terminal_;
}

void Progress::print(const std::string& line) {
  erase();
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

void Progress::erase() {
  if (drawn_) std::fputs("\r\x1b[K", out_);
  drawn_ = false;
}

void catch_interrupt() { std::signal(SIGINT, on_interrupt); }
bool interrupted() { return interrupt_flag != 0; }

}  // namespace pg
