// Remarks and the progress line of a run.
#include "tools/pg/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tools/pg/cli/terminal_text.h"

namespace pg {

namespace {

std::string prefix_of_lines;

std::string with_prefix(std::string_view text) {
  std::string lines;
  for (bool begins = true; const char c : text) {
    if (begins) lines += prefix_of_lines;
    lines += c;
    begins = c == '\n';
  }
  return lines;
}

// The columns of the terminal `out`; 0 if it is no terminal or cannot erase a line.
int columns_of(std::FILE* out) {
  if (!prefix_of_lines.empty()) return 0;
  const char* kind = std::getenv("TERM");
  if (isatty(fileno(out)) != 1 || !kind || std::string_view(kind) == "dumb") return 0;
  winsize size = {};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// The first `characters` characters of a UTF-8 text.
std::string_view cut(std::string_view text, size_t characters) {
  size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xc0) != 0x80;
    if (begins && characters-- == 0) break;
  }
  return text.substr(0, bytes);
}

}  // namespace

void set_remark_prefix(std::string prefix) { prefix_of_lines = std::move(prefix); }

// The text bypasses the buffer of `out`: a buffer keeps what could not be written and fails again later.
void write_remark(std::FILE* out, std::string_view text) noexcept {
  std::string prefixed;
  if (!prefix_of_lines.empty()) {
    text = prefixed = with_prefix(text);
    out = stderr;
  }
  std::fflush(out);
  const int file = fileno(out);
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string format_duration(double seconds) {
  const auto s = static_cast<int64_t>(std::lround(std::max(0.0, seconds)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
}

Progress::Progress(int64_t start, int64_t total, std::FILE* out) : Progress(start, total, out, columns_of(out)) {}

Progress::Progress(int64_t start, int64_t total, std::FILE* out, int columns)
    : start_(start), total_(total), out_(out), columns_(columns) {}

Progress::~Progress() {
  if (drawn_) write_remark(out_, "\n");
}

void Progress::update(int64_t done, const std::string& status) {
  const double seconds = timer_.seconds();
  const int64_t tenth = total_ > 0 ? done * 10 / total_ : 10;
  const bool draw = columns_ > 0 ? !drawn_ || done == total_ || seconds - last_ > 0.1 : tenth > tenth_;
  if (!draw) return;
  last_ = seconds;
  tenth_ = tenth;

  std::string line = fmt::format("{:3}%  step {}/{}  {}", total_ > 0 ? done * 100 / total_ : 100, done, total_, status);
  if (done == total_)
    line += fmt::format("  took {}", format_duration(seconds));
  else if (done > start_)
    line += fmt::format("  {} left", format_duration(seconds * static_cast<double>(total_ - done) /
                                                     static_cast<double>(done - start_)));
  erase();
  if (columns_ == 0) {
    write_remark(out_, line + "\n");
    return;
  }
  // A character in the last column makes some terminals start a new line.
  write_remark(out_, cut(line, static_cast<size_t>(columns_ - 1)));
  drawn_ = true;
}

void Progress::print(const std::string& line) {
  erase();
  write_remark(out_, tools::for_terminal(out_, line) + "\n");
}

void Progress::erase() {
  if (drawn_) write_remark(out_, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace pg
