// CI checks of every lesson; see lessons/kit/README.md. lessons/kit/tests.cmake runs it from the repository's root.
//   gate stub PROGRAM              every check is TODO
//   gate ok PROGRAM [ARGUMENT]     every check is ok
//   gate readme PROGRAM README     its lines have at most 80 columns, the commands in its sh blocks work
//   gate width FILE                its lines have at most 80 columns
//   gate comments FILE             so have the lines of C++ that are comments
//   gate demo PROGRAM SECONDS README  the claims hold, within that much CPU time; no line is wider than 80 columns;
//                                  curves are inside the bands of ten seeds; the numbers of its drawings are printed
//                                  too; with POLICYGRAD_NUMBERS set, so are those that the README calls printed
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "lessons/kit/lesson.h"
#include "lessons/kit/source.h"
#include "lessons/kit/state.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"

namespace {

using pg::check;
using pg::Json;

using pg::kit::kUnavailable;
struct Unavailable {};

struct Run {
  int status;
  std::string output;
  double seconds;  // CPU time of all threads together, which is independent of other load
};
double cpu_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
Run run(const std::string& command) {
  const double start = cpu_seconds_of_children();
  std::fflush(stdout);
  FILE* pipe = popen((command + " </dev/null").c_str(), "r");
  check(pipe, "cannot run {}", command);
  std::string output;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  const int status = pclose(pipe);
  std::cout << output;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kUnavailable) throw Unavailable{};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output, cpu_seconds_of_children() - start};
}

Json last_line(const std::string& output) {
  const size_t end = output.find_last_not_of('\n');
  check(end != std::string::npos, "no output");
  const size_t start = output.rfind('\n', end);
  return Json::parse(output.substr(start == std::string::npos ? 0 : start + 1, end - start));
}

constexpr double kCheckSeconds = 30;  // of CPU time: ten seconds on two cores, times 1.5

Json graded(const std::string& program, const std::string& arguments, int expected_status) {
  const Run result = run(program + " check --json " + arguments);
  check(result.status == expected_status, "exit status {}, expected {}", result.status, expected_status);
  check(result.seconds < kCheckSeconds, "grading took {:.0f} s of processor time", result.seconds);
  const Json checks = last_line(result.output).at("checks");
  check(!checks.empty(), "the lesson has no checks");
  return checks;
}

void all_are(const Json& checks, const std::string& state) {
  for (const Json& c : checks) {
    check(c.at("state") == state, "{} is {}, expected {}", c.at("id").get<std::string>(),
          c.at("state").get<std::string>(), state);
  }
}

// The columns of a line on a terminal: a code point is one, a CJK character or an emoji two, a combining mark none.
int columns(const std::string& utf8) {
  int width = 0;
  for (size_t i = 0; i < utf8.size();) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const size_t length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    uint32_t code = length == 1 ? byte : byte & (0xffu >> (length + 1));
    for (size_t k = 1; k < length && i + k < utf8.size(); ++k) code = code << 6 | (utf8[i + k] & 0x3f);
    const bool mark = code >= 0x300 && code < 0x370;
    const bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                      (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                      (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) || code >= 0x1f300;
    width += mark ? 0 : wide ? 2 : 1;
    i += length;
  }
  return width;
}

// A terminal beside the editor has 80 columns; a table or formula that wraps there cannot be read.
void check_width(const std::string& path, bool comments_only = false) {
  std::istringstream text(pg::kit::read_file(path));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    const size_t first = line.find_first_not_of(' ');
    if (comments_only && (first == std::string::npos || line.compare(first, 2, "//") != 0)) continue;
    check(columns(line) <= 80, "{}:{} is {} columns wide, at most 80 are allowed", path, number, columns(line));
  }
}

void readme(const std::string& program, const std::string& path) {
  check_width(path);
  const std::string name = program.substr(program.rfind('/') + 1);
  const std::string lesson = name.substr(0, name.find('_'));  // for example lesson1 for lesson1_stub
  int ran = 0;
  for (std::string line : pg::kit::fenced_lines(pg::kit::read_file(path), "sh")) {
    line = line.substr(0, line.find("  #"));
    const std::string call = "./" + lesson;
    if (line == "make " + lesson + " && " + call || line == call || line == call + " --full") continue;  // gate demo
    if (line.starts_with("make " + lesson + " && ")) line = line.substr(lesson.size() + 9);
    check(line.starts_with(call + " "), "{}: \"{}\" is no command of {}", path, line, call);
    // Commands that write the learner's files are tested elsewhere.
    if (line == call + " reset" || line.starts_with(call + " hint") || line == call + " mine") continue;
    const Run result = run(program + line.substr(call.size()));
    check(result.status <= 2, "{}: \"{}\" ends with status {}", path, line, result.status);
    ++ran;
  }
  check(ran > 0, "{}: no sh block has a check to run", path);
}

// The numbers in a line, without signs and without commas in thousands; none that is a part of a name, as in pass@8.
std::multiset<std::string> numbers_in(const std::string& line) {
  static const std::regex number(R"((^|[\s|(<*+-])((?:\d{1,3}(?:,\d{3})+|\d*)(?:\.?\d+)))");
  std::multiset<std::string> all;
  for (std::sregex_iterator it(line.begin(), line.end(), number), end; it != end; ++it) {
    std::string text = (*it)[2];
    std::erase(text, ',');
    all.insert(text[0] == '.' ? "0" + text : text);
  }
  return all;
}

// Whether one line of the output has all these numbers, or each that has a decimal point is in some line.
bool is_printed(const std::multiset<std::string>& numbers, const std::vector<std::multiset<std::string>>& output) {
  const auto includes = [&](const auto& line) {
    return std::includes(line.begin(), line.end(), numbers.begin(), numbers.end());
  };
  if (std::any_of(output.begin(), output.end(), includes)) return true;
  bool decimals = false;
  for (const std::string& number : numbers) {
    if (number.find('.') == std::string::npos) continue;
    decimals = true;
    const auto has = [&](const auto& line) { return line.contains(number); };
    if (std::none_of(output.begin(), output.end(), has)) return false;
  }
  return decimals;
}

// The numbers of a README below a line "<!-- printed -->", up to the next empty line, stand in the output. The header
// of a table is left out. Another mathematical library may give other bits, so this is for the course's authors.
void check_printed(const std::string& readme, const std::string& output) {
  std::vector<std::multiset<std::string>> printed;
  std::istringstream out(output), text(pg::kit::read_file(readme));
  for (std::string line; std::getline(out, line);) printed.push_back(numbers_in(line));
  bool marked = false;
  std::string missing, waiting;  // a line waits until the next one shows that it is no header
  const auto flush = [&] {
    const auto numbers = numbers_in(waiting.substr(0, waiting.find_last_not_of(' ') + 1));
    if (!numbers.empty() && !is_printed(numbers, printed)) missing += "\n  " + waiting;
    waiting.clear();
  };
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("|---")) waiting.clear();
    flush();
    if (line.empty()) marked = false;
    if (marked) waiting = line;
    if (line == "<!-- printed -->") marked = true;
  }
  flush();
  check(missing.empty(), "{}: the demonstration does not print the numbers of{}", readme, missing);
}

// The items of a page that --report wrote.
Json items_of(const std::string& page) {
  const std::string begin = "id=\"report-data\">";
  const size_t at = page.find(begin);
  check(at != std::string::npos, "the report has no data");
  return Json::parse(page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size())).at("items");
}

// Each number in the words of a drawing stands in the output, so a drawing shows nothing but the demonstration's
// results.
void check_drawings(const Json& items, const std::string& output) {
  const auto printed = numbers_in(output);
  for (const Json& item : items) {
    if (item.at("type") != "drawing") continue;
    for (const Json& frame : item.at("frames")) {
      std::string words = frame.at("caption").get<std::string>();
      for (const Json& box : frame.at("boxes")) {
        for (const Json& line : box.at("lines")) words += "\n" + line.get<std::string>();
      }
      for (const Json& arrow : frame.at("arrows")) words += "\n" + arrow.at("label").get<std::string>();
      for (const std::string& number : numbers_in(words)) {
        check(printed.contains(number), "the drawing \"{}\" has a {} that the demonstration does not print: {}",
              item.at("title").get<std::string>(), number, words);
      }
    }
  }
}

void demo(const std::string& program, double limit, const std::string& readme) {
  const std::string page = program + ".report.html";
  const Run result = run(program + " --json --report=" + page);
  check_drawings(items_of(pg::kit::read_file(page)), result.output);
  std::remove(page.c_str());
  const Json json = last_line(result.output);
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {  // an address cannot be broken
    const bool fits =
        columns(line) <= 80 || line.starts_with("{") || line == page || line.find("://") != std::string::npos;
    check(fits, "a line is {} columns wide, at most 80 are allowed: {}", columns(line), line);
  }
  check(!json.at("claims").empty(), "the demonstration claims nothing");
  // A seed that made the band is inside; where the processor rounds otherwise, the curve is one of an eleventh seed.
  for (const Json& curve : json.at("curves")) {
    check(curve.at("inside").get<double>() >= 0.5, "of the curve \"{}\" {:.0f} % are inside the band of ten seeds",
          curve.at("name").get<std::string>(), 100 * curve.at("inside").get<double>());
  }
  std::string failures;
  for (const Json& claim : json.at("claims")) {
    check(claim.at("value").is_number() && !claim.at("bound").get<std::string>().empty(),
          "a claim without value or bar");
    if (!claim.at("pass").get<bool>()) failures += " \"" + claim.at("name").get<std::string>() + "\"";
  }
  check(failures.empty(), "claims that fail:{}", failures);
  check(result.status == 0, "exit status {}", result.status);
  check(result.seconds < limit, "{:.0f} s of processor time, at most {:.0f} are allowed", result.seconds, limit);
  if (std::getenv("POLICYGRAD_NUMBERS")) check_printed(readme, result.output);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  try {
    check(a.size() >= 2, "gate: see the top of gate.cpp");
    const std::string third = a.size() > 2 ? a[2] : "";
    if (a[0] == "stub") return all_are(graded(a[1], "", 2), "TODO"), 0;
    if (a[0] == "ok") return all_are(graded(a[1], third, 0), "ok"), 0;
    if (a[0] == "width") return check_width(a[1]), 0;
    if (a[0] == "comments") return check_width(a[1], true), 0;
    if (a[0] == "readme") return readme(a[1], third), 0;
    if (a[0] == "demo") return demo(a[1], std::stod(third), a.at(3)), 0;
    pg::fail("gate: unknown gate {}", a[0]);
  } catch (const Unavailable&) {
    return kUnavailable;
  } catch (const std::exception& error) {
    std::cout << "gate " << (argc > 1 ? a[0] : "") << ": " << error.what() << std::endl;
    return 1;
  }
}
