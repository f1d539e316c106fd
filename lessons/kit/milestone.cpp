// Grades the pieces that a milestone runs on, and runs it.
#include "lessons/kit/milestone.h"

#include <set>

#include "lessons/kit/isolate.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace {

constexpr int kNotOk = 3;  // as a lesson that refuses

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

// "mul and tanh (./lesson2 check); softmax (./lesson3 check)": the pieces that are not ok.
std::string not_ok(const std::vector<LessonEntry>& lessons) {
  std::string text;
  TimeLimit limit;
  for (const LessonEntry& lesson : lessons) {
    std::vector<std::string> pieces;
    for (const CheckEntry& check : lesson.checks) {
      const bool named = std::find(pieces.begin(), pieces.end(), check.piece) != pieces.end();
      if (!named && run_isolated(check, true, limit).state != State::ok) pieces.push_back(check.piece);
    }
    if (pieces.empty()) continue;
    text += fmt::format("{}{} ({} check)", text.empty() ? "" : "; ", joined(pieces), lesson.program());
  }
  return text;
}

// Three lines. Returns whether each piece was called.
bool say_what_was_own(Demo& demo, const std::vector<LessonEntry>& lessons, const std::string& below) {
  auto calls = piece_calls();
  std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t sum = 0;
  std::set<std::string> pieces;  // two lessons may have one of the same name
  std::vector<std::string> numbers, most;
  for (const auto& [name, count] : calls) sum += count;
  for (size_t i = 0; i < std::min<size_t>(2, calls.size()); ++i) {
    most.push_back(fmt::format("{} ({})", calls[i].first, calls[i].second));
  }
  for (const LessonEntry& lesson : lessons) {
    numbers.push_back(lesson.number);
    for (const CheckEntry& check : lesson.checks) pieces.insert(lesson.program() + check.piece);
  }
  demo.heading("What was your own");
  demo.line("Yours: {} pieces of lesson{} {}, called {} times.", pieces.size(), numbers.size() > 1 ? "s" : "",
            joined(numbers), sum);
  demo.line("Most often: {}.", joined(most));
  demo.line("The engine's: {}.", below);
  demo.gap();
  const auto uncalled = std::count_if(calls.begin(), calls.end(), [](const auto& call) { return call.second == 0; });
  demo.claim("your pieces that were not called", static_cast<double>(uncalled), fmt::format("of {}", pieces.size()),
             equals(0));
  return uncalled == 0;
}

}  // namespace

int run_milestone(const Milestone& milestone) {
  try {
    if (const std::string pieces = not_ok(milestone.lessons); !pieces.empty()) {
      fmt::print("{}", wrapped(fmt::format("{} runs on your own pieces, and these are not ok yet: {}.", milestone.name,
                                           pieces)));
      return kNotOk;
    }
    Demo demo(false);
    milestone.show(demo);
    std::vector<LessonEntry> used = milestone.lessons;
    if (const std::string pieces = not_ok(milestone.beside); !pieces.empty()) {
      demo.gap();
      demo.say("With these pieces it would go on: {}.", pieces);
    } else if (milestone.show_beside) {
      milestone.show_beside(demo);
      used.insert(used.end(), milestone.beside.begin(), milestone.beside.end());
    }
    bool ok = say_what_was_own(demo, used, milestone.below);
    for (const Claim& claim : demo.claims()) ok &= claim.holds();
    return ok ? 0 : 1;
  } catch (const std::exception& error) {
    const LastPiece last = last_piece();
    fmt::print("{}", wrapped(fmt::format("{} stopped with {}. Your {} was called last.", milestone.name, error.what(),
                                         last.name)));
    return 1;
  }
}

}  // namespace pg::kit
