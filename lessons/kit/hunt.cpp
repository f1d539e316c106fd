// The command hunt: shows a training with one mistake in it, and asks for the cause.
#include "lessons/kit/hunt.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "lessons/kit/built.h"
#include "lessons/kit/commands.h"
#include "lessons/kit/isolate.h"
#include "lessons/kit/quiz.h"
#include "lessons/kit/record.h"
#include "tensor/base/json.h"

namespace pg::kit {
namespace {

std::string letter(size_t choice) { return std::string(1, static_cast<char>('a' + choice)); }

// The explanation after an answer: labels and texts.
std::vector<std::pair<std::string, std::string>> explanation(const LessonEntry& lesson, Causes& causes,
                                                             const std::string& mistake, const std::string& picture) {
  const CheckEntry& check = causes.check_of(mistake);
  const Case& numbers = causes.outcome_of(mistake).failure;
  return {{"cause", causes.words(mistake)},
          {"picture", picture},
          {"check", fmt::format("{} {} would have found it:", check.id, check.title)},
          {"input", numbers.input},
          {"engine", numbers.want},
          {"this", numbers.got},
          {"read", fmt::format("{}/README.md \"{}\"", lesson.folder, check.section)}};
}

std::string text_of(const HuntScore& score) {
  return fmt::format("{} of {} found, {} in a row, at most {}", score.right, score.answered, score.streak, score.best);
}

// Counts an answer in the learner's record. Returns the new score.
HuntScore keep_score(const LessonEntry& lesson, bool right) {
  Progress progress = load_progress(progress_path());
  HuntScore& score = progress.lessons[lesson.number].hunt;
  ++score.answered;
  score.right += right;
  score.streak = right ? score.streak + 1 : 0;
  score.best = std::max(score.best, score.streak);
  save_progress(progress_path(), progress);
  return score;
}

// Trains with the mistake and shows the curves, each on the engine's band, and the texts. Returns the curves.
Bands show_training(const LessonEntry& mistaken, const Bands& engine, Demo& demo) {
  Bands curves;
  std::vector<std::string> texts;
  add_training(mistaken.train, Settings(mistaken.settings), 1, curves, texts);
  for (const auto& [name, band] : curves) {
    Series curve{.name = name, .y = band.low, .x = band.x};
    put_on_band(engine, curve);
    demo.show(line_plot({curve}, {.height = 7}));
    demo.gap();
  }
  for (const std::string& text : texts) demo.item("", text);
  return curves;
}

// Shows the question, and reads and judges the answer.
void ask(const LessonEntry& lesson, const Pictures& pictures, Causes& causes, const HuntOptions& options,
         uint64_t seed) {
  const Bands engine = read_bands(band_file(lesson));
  const HuntQuestion question =
      hunt_question(pictures, in_parts(engine), seed, [&](const std::string& name) { return causes.words(name); });
  DemoRecord shown;
  Demo demo(false, &shown, {.quiet = options.json});
  demo.heading(fmt::format("What is broken here? Question {}", seed));
  demo.say(
      "One of the lesson's functions has a mistake. This is what its training shows. The band is the lowest and the "
      "highest of ten trainings without it:");
  const Bands curves = show_training(causes.at(question.mistake).second, engine, demo);
  Json json = {{"lesson", lesson.number}, {"title", lesson.title}, {"seed", seed}};
  json["observations"] = Json::parse(shown.items());
  json["choices"] = Json::array();
  demo.gap();
  demo.say("Which mistake is it?");
  for (size_t i = 0; i < question.choices.size(); ++i) {
    const std::string words = causes.words(question.choices[i]);
    json["choices"].push_back({{"letter", letter(i)}, {"text", words}});
    demo.item(letter(i) + "  ", words);
  }
  std::string given = options.answer;
  if (given.empty() && !options.json && isatty(STDIN_FILENO)) {
    const size_t choice = read_choice(std::cin, question.choices.size());
    if (choice < question.choices.size()) given = letter(choice);
  }
  demo.gap();
  if (given.empty()) {
    demo.say("No answer, so nothing is counted: {} hunt --seed {}", lesson.program(), seed);
  } else {
    const auto at = std::find(question.choices.begin(), question.choices.end(), question.mistake);
    const std::string truth = letter(static_cast<size_t>(at - question.choices.begin()));
    const bool right = given == truth;
    json["verdict"] = {{"right", right}, {"answer", given}, {"truth", truth}};
    demo.say("{}", right ? paint(Color::green, "Right.") : paint(Color::red, fmt::format("No: it is {}.", truth)));
    for (const auto& [label, text] :
         explanation(lesson, causes, question.mistake, picture_text(in_parts(curves), in_parts(engine)))) {
      json["verdict"][label] = text;
      demo.item(padded(label, 9), text);
    }
    demo.gap();
    if (!options.json) demo.say("{}", text_of(keep_score(lesson, right)));
  }
  if (options.json) fmt::print("{}\n", json.dump(-1, Json::Utf8::replace));
}

}  // namespace

std::string hunt_file(const LessonEntry& lesson) { return repository_root() + "/" + lesson.folder + "/hunt.csv"; }

const std::pair<MutantRow, LessonEntry>& Causes::at(const std::string& mistake) const {
  const auto found =
      std::find_if(mistaken_.begin(), mistaken_.end(), [&](const auto& each) { return each.first.name == mistake; });
  check(found != mistaken_.end(),
        "hunt.csv: the lesson has no mistake \"{}\"; its command hunt --record writes it anew", mistake);
  return *found;
}

const CheckEntry& Causes::check_of(const std::string& mistake) const {
  const auto& [row, lesson] = at(mistake);
  return *select(lesson, {row.check}).front();
}

const Outcome& Causes::outcome_of(const std::string& mistake) {
  const auto found = outcomes_.find(mistake);
  return found != outcomes_.end() ? found->second : outcomes_[mistake] = run_isolated(check_of(mistake), true);
}

std::string Causes::words(const std::string& mistake) {
  const std::string& diagnosis = outcome_of(mistake).diagnosis;
  return fmt::format("{}: {}", check_of(mistake).piece, diagnosis.empty() ? at(mistake).first.says : diagnosis);
}

int hunt_command(const LessonEntry& lesson, const MistakenLessons& mistaken, const HuntOptions& options, char** argv) {
  if (is_handout(lesson)) {
    fmt::print("{}", wrapped("This is a handout, which has no table of mistakes, so there is nothing to hunt in it."));
    return 0;
  }
  check(options.record || std::filesystem::exists(hunt_file(lesson)), "lesson {} has no hunt: there is no {}/hunt.csv",
        lesson.number, lesson.folder);
  if (mistaken.empty()) {
    check(built(), "hunt: this program cannot build lesson{}_mutants, which has the mistakes", lesson.number);
    const std::string target = built()->target + "_mutants";
    build_and_become(target, argv, "", options.json, target + ", which has the mistakes, was not built.");
  }
  if (options.record) return record_hunt(lesson, mistaken);
  if (options.verify > 0) return verify_hunt(lesson, mistaken, options.verify);
  const Pictures pictures = read_pictures(hunt_file(lesson));
  const HuntScore score = load_progress(progress_path()).lessons[lesson.number].hunt;
  if (options.list) {
    const auto known = std::count_if(mistaken.begin(), mistaken.end(), [](const auto& m) { return !m.first.right(); });
    fmt::print("{}{}\n",
               wrapped(fmt::format("{} of the {} mistakes that the checks of lesson {} know change what its training "
                                   "shows: each is a question of {} hunt.",
                                   pictures.size(), known, lesson.number, lesson.program())),
               text_of(score));
    return 0;
  }
  Causes causes(mistaken);
  ask(lesson, pictures, causes, options, options.seed ? options.seed : static_cast<uint64_t>(score.answered) + 1);
  return 0;
}

}  // namespace pg::kit
