// pg grade: whether an answer in mathematics equals the expected one.
#include "tasks/grade/grade.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "nn/atomic_file.h"
#include "tasks/grade/mathd.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/process.h"

namespace pg::tools {
namespace {

struct GradeOptions {
  std::string given, gold, pairs, audit, compat = "none";
  bool explain = false, json = false;
};

Verdict verdict_of(const GradeOptions& o, const std::string& given, const std::string& gold) {
  return o.compat == "mathd" ? grade_as_mathd(given, gold) : grade_answer(given, gold);
}

nlohmann::ordered_json json_of(const Verdict& verdict, const std::string& given, const std::string& gold,
                               bool explain) {
  nlohmann::ordered_json line = {{"verdict", name_of(verdict.kind)}, {"reason", verdict.reason}};
  if (explain) {
    line["given"] = describe_answer(given);
    line["gold"] = describe_answer(gold);
  }
  return line;
}

// Bytes of an answer that are no UTF-8 are printed as U+FFFD.
std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// What --audit writes of a verdict.
std::string audit_line(const Verdict& verdict, const std::string& given, const std::string& gold) {
  return one_line({{"given", given},
                   {"gold", gold},
                   {"verdict", name_of(verdict.kind)},
                   {"reason", verdict.reason},
                   {"rule", verdict.rule},
                   {"steps", verdict.steps}});
}

// A verdict per line of {"given": …, "gold": …}.
int grade_pairs(const GradeOptions& o) {
  std::ifstream file;
  if (o.pairs != "-") file.open(o.pairs, std::ios::binary);
  std::istream& in = o.pairs == "-" ? std::cin : file;
  check(in.good(), "grade: {} cannot be read", o.pairs);
  std::string text, audit;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    const std::string where = fmt::format("{}, line {}", o.pairs, number);
    const auto pair = nlohmann::json::parse(shallow_json(text, where), nullptr, /*allow_exceptions=*/false);
    for (const char* name : {"given", "gold"}) {
      check(pair.is_object() && pair.contains(name) && pair[name].is_string(),
            "grade: {}: expected a JSON object with the texts given and gold", where);
    }
    const std::string given = pair["given"], gold = pair["gold"];
    const Verdict verdict = verdict_of(o, given, gold);
    fmt::print("{}\n", one_line(json_of(verdict, given, gold, o.explain)));
    if (!o.audit.empty()) audit += audit_line(verdict, given, gold) + "\n";
  }
  check(in.eof(), "grade: {} cannot be read", o.pairs);
  if (!o.audit.empty()) write_file_atomically(o.audit, audit);
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
  if (!o.pairs.empty()) {
    check(o.given.empty() && o.gold.empty(), "grade: --pairs and answers on the command line; give one of them");
    return grade_pairs(o);
  }
  check(o.audit.empty(), "grade: --audit needs --pairs");
  check(!o.gold.empty(), "grade: two answers are needed: the given and the expected one");
  const Verdict verdict = verdict_of(o, o.given, o.gold);
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
  return {
      .name = "grade",
      .about = "say whether an answer in mathematics equals the expected one",
      .fields = {{"pairs", &o->pairs,
                  "a file of lines {\"given\": …, \"gold\": …}, or - for standard input; one JSON verdict per line"},
                 {"audit", &o->audit,
                  "with --pairs: write a file with a JSON object per pair: given, gold, verdict, reason, rule, steps"},
                 {"compat", one_of(o->compat, {"none", "mathd"}), "verdicts as MATH's usual grader gives them: mathd"},
                 flag("explain", o->explain, "show the forms that were read, and the reason"),
                 json_field(o->json, "write one JSON object")},
      .run = [o](Given&) { return grade(*o); },
      .arguments = {{"given", &o->given,
                     "the answer, or a text that states it in \\boxed{}, in <answer> or after "
                     "\"answer is\"",
                     /*required=*/false},
                    {"gold", &o->gold, "the expected answer", /*required=*/false}},
      .notes = "Exit status: 0 yes, 2 no, 3 unknown; 1 an error."};
}

}  // namespace pg::tools
