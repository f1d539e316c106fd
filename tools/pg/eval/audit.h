#pragma once
// Audits: verdicts of the grader (docs/GRADER.md) as lines for a person to read.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl/text/evaluation.h"
#include "tasks/grade/grade.h"
#include "tensor/base/json.h"

namespace pg::tools {

// A verdict with what decided it: given, gold, verdict, reason, rule and steps.
Json audit_of(const Verdict& verdict, std::string_view given, std::string_view gold);

// Why a person should look at a verdict of an evaluation.
struct AuditReason {
  std::string_view name, about;
};
std::span<const AuditReason> audit_reasons();

// The verdicts of an evaluation that a person should look at.
struct EvalAudit {
  std::string lines;  // a JSON object each: model, problem, sample, why, those of audit_of(), and the response
  std::vector<int64_t> counts;  // lines with each row of audit_reasons()
};
// Audits the responses of `models` models, one after another, to the problems of a task that uses the grader.
EvalAudit audit_evaluation(const TextTask& task, const std::vector<Problem>& problems,
                           std::span<const rl::EvalResponse> responses, int64_t models);

}  // namespace pg::tools
