// pg grade: whether an answer in mathematics equals the expected one.
#include "tasks/grade/grade.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include "tasks/chat/prompt_style.h"
#include "tasks/grade/extract.h"
#include "tasks/puzzles/math.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/eval/audit.h"

namespace pg::tools {
namespace {

struct GradeOptions {
  std::string given, gold, pairs, audit, filter, out;
  PromptOptions prompt = {.style = "r1-zero"};
  bool explain = false, json = false;
};

Json json_of(const Verdict& verdict, const std::string& given, const std::string& gold, bool explain) {
  Json line = {{"verdict", name_of(verdict.kind)}, {"reason", verdict.reason}};
  if (explain) {
    line["given"] = describe_answer(given);
    line["gold"] = describe_answer(gold);
  }
  return line;
}

// Bytes of an answer that are no UTF-8 are printed as U+FFFD.
std::string one_line(const Json& json) { return json.dump(-1, Json::Utf8::replace); }

// A verdict per line of {"given": …, "gold": …}.
int grade_pairs(const GradeOptions& o) {
  std::ifstream file;
  if (o.pairs != "-") file.open(o.pairs, std::ios::binary);
  std::istream& in = o.pairs == "-" ? std::cin : file;
  check(in.good(), "grade: {} cannot be read", o.pairs);
  std::string text, audit;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    const std::string where = fmt::format("{}, line {}", o.pairs, number);
    const Json pair = Json::try_parse(shallow_json(text, where));
    for (const char* name : {"given", "gold"}) {
      check(pair[name].is_string(), "grade: {}: expected a JSON object with the texts given and gold", where);
    }
    const std::string &given = pair["given"].text(), &gold = pair["gold"].text();
    const Verdict verdict = grade_answer(given, gold);
    fmt::print("{}\n", one_line(json_of(verdict, given, gold, o.explain)));
    if (!o.audit.empty()) audit += one_line(audit_of(verdict, given, gold)) + "\n";
  }
  check(in.eof(), "grade: {} cannot be read", o.pairs);
  if (!o.audit.empty()) write_file_atomically(o.audit, audit);
  flush_output();
  return 0;
}

// The text of the first of these keys that the line has; a number as it is written.
std::optional<std::string> text_of(const Json& line, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (line[key].is_string()) return line[key].text();
    if (line[key].is_number()) return line[key].dump();
  }
  return {};
}

// Writes the lines whose response has the right answer, as they stand.
int filter_traces(const GradeOptions& o) {
  check(o.given.empty() && o.gold.empty() && o.pairs.empty(),
        "grade: --filter takes no answers and no --pairs; give one of them");
  check(!o.out.empty(), "grade: --filter needs --out, the file for the lines that are kept");
  const PromptStyle& style = find_row(prompt_styles(), "--prompt-style", o.prompt.style);
  const AnswerFormat& form =
      style.format ? *style.format : find_row(answer_formats(), "--answer-format", o.prompt.answer_format);
  std::ifstream file(o.filter, std::ios::binary);
  check(file.good(), "grade: {} cannot be read", o.filter);
  AtomicFile out(o.out);
  int64_t scanned = 0, evaluable = 0, formatted = 0, kept = 0;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    std::string_view text = trimmed(line);
    if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.empty()) continue;
    const std::string where = fmt::format("{}:{}", o.filter, number);
    const Json json = Json::try_parse(shallow_json(text, where));
    check(json.is_object(), "{}: expected a JSON object, got '{}'", where, excerpt(text));
    ++scanned;
    const auto response = text_of(json, {"response", "completion"});
    const auto gold = text_of(json, {"ground_truth", "answer"});
    if (!response || !gold) continue;
    ++evaluable;
    const auto answer = answer_in(style, form, *response);
    formatted += answer.has_value();
    if (!answer || !is_equal_answer(*answer, *gold)) continue;
    ++kept;
    out.write(text.data(), text.size());
    out.write("\n", 1);
  }
  check(file.eof(), "grade: {} cannot be read", o.filter);
  check(scanned > 0, "{}: the file is empty", o.filter);
  out.commit();
  if (o.json) {
    fmt::print("{}\n",
               one_line({{"kept", kept}, {"formatted", formatted}, {"evaluable", evaluable}, {"scanned", scanned}}));
  } else {
    fmt::print(
        "{}: kept {} of {} lines; {} have a response and a gold answer, {} of these an answer in the form of {}\n",
        o.out, kept, scanned, evaluable, formatted, style.name);
  }
  flush_output();
  return 0;
}

// The statuses are not 1, which an error has.
int status_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::yes:
      return 0;
    case Verdict::Kind::no:
      return 2;
    default:
      return 3;
  }
}

int grade(const GradeOptions& o) {
  if (!o.filter.empty()) return filter_traces(o);
  check(o.out.empty(), "grade: --out is for --filter");
  if (!o.pairs.empty()) {
    check(o.given.empty() && o.gold.empty(), "grade: --pairs and answers on the command line; give one of them");
    return grade_pairs(o);
  }
  check(o.audit.empty(), "grade: --audit needs --pairs");
  check(!o.gold.empty(), "grade: two answers are needed: the given and the expected one");
  const Verdict verdict = grade_answer(o.given, o.gold);
  if (o.json) {
    fmt::print("{}\n", one_line(json_of(verdict, o.given, o.gold, o.explain)));
  } else {
    fmt::print("{}\n", name_of(verdict.kind));
    if (o.explain) {
      fmt::print("given   {}\ngold    {}\nreason  {}\n", describe_answer(o.given), describe_answer(o.gold),
                 verdict.reason);
    }
  }
  return status_of(verdict.kind);
}

}  // namespace

Command grade_command() {
  const auto o = std::make_shared<GradeOptions>();
  return {.name = "grade",
          .about = "say whether an answer in mathematics equals the expected one",
          .fields =
              {{"pairs", &o->pairs,
                "a file of lines {\"given\": …, \"gold\": …}, or - for standard input; one JSON verdict per line"},
               {"audit", &o->audit,
                "with --pairs: write a file with a JSON object per pair: given, gold, verdict, reason, rule, steps"},
               {"filter", &o->filter,
                "a JSONL file of lines with response (or completion) and ground_truth (or answer): those whose answer "
                "is right are written to --out"},
               {"out", &o->out, "with --filter: the file that is written"},
               {"prompt-style", one_of(o->prompt.style, names_of(prompt_styles())),
                "with --filter: where the answer stands in a response"},
               {"answer-format", one_of(o->prompt.answer_format, names_of(answer_formats())),
                "the same, with --prompt-style chat"},
               flag("explain", o->explain, "show the forms that were read, and the reason"),
               json_field(o->json, "write one JSON object")},
          .run = [o](Given&) { return grade(*o); },
          .arguments = {{"given", &o->given,
                         "the answer, or a text that states it in \\boxed{}, in <answer> or behind ####, "
                         "\"answer is\" or \"Answer:\"",
                         /*required=*/false},
                        {"gold", &o->gold, "the expected answer", /*required=*/false}},
          .notes =
              "Exit status: 0 yes, 2 no, 3 unknown; 1 an error. An answer such as -x, which may be an option, stands "
              "behind --."};
}

}  // namespace pg::tools
