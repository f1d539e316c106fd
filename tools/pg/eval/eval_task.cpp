// pg eval --task: responses to held-out problems, and the table of what they say.
#include "tools/pg/eval/eval_task.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "nn/config_json.h"
#include "nn/files/checkpoint.h"
#include "rl/text/evaluation.h"
#include "rl/text/rollout.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/eval/audit.h"
#include "tools/pg/eval/eval_report.h"
#include "tools/pg/eval/eval_results.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

// The numbers of --k, ascending, each once.
std::vector<int64_t> ks_of(const EvalTaskOptions& o) {
  if (o.k.empty()) return o.samples == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, o.samples};
  std::vector<int64_t> ks;
  for (size_t begin = 0; begin <= o.k.size();) {
    const size_t end = std::min(o.k.find(',', begin), o.k.size());
    int64_t k = 0;
    const auto [rest, error] = std::from_chars(o.k.data() + begin, o.k.data() + end, k);
    check(error == std::errc() && rest == o.k.data() + end && k >= 1,
          "pg eval: --k: expected whole numbers of at least 1 with commas between them, as in 1,8; got '{}'", o.k);
    check(k <= o.samples, "pg eval: --k {} needs at least that many --samples; there are {}", k, o.samples);
    ks.push_back(k);
    begin = end + 1;
  }
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

struct LoadedModel {
  std::string run;
  int64_t step = 0;
  std::unique_ptr<Transformer> model;
  std::string weights;  // hash
};

LoadedModel load_model(const std::string& run, const EvalModelOptions& o, const TextTask& task, const Device& device,
                       std::optional<DType> dtype) {
  LoadedModel m;
  m.run = run;
  if (pretrained_path(run).empty()) {
    const std::string path = checkpoint_of(run, o.best);
    m.step = load_checkpoint(path).state.step;
    m.model = load_policy(path, task, device, dtype);
  } else {
    m.model = load_policy(run, task, device, dtype);
  }
  check(rl::block_size_for(task) <= m.model->config.block_size,
        "{}: its model has a context of {}, the task {} needs {}; are these the options of the task it was trained on?",
        run, m.model->config.block_size, task.name(), rl::block_size_for(task));
  load_adapter(*m.model, run, o.adapter);
  m.model->eval();
  m.weights = weights_hash(*m.model);
  return m;
}

Json settings_of(const EvalTaskOptions& o, const EvalModelOptions& model, const std::vector<LoadedModel>& models,
                 int64_t problems, const Device& device) {
  ChatTaskOptions chat = o.common.chat;
  Json settings = {{"task", o.common.task},
                   {"task_options", Json::parse(to_json(o.common.setup.fields))},
                   {"chat_options", Json::parse(to_json(fields(chat)))},
                   {"problems", problems},
                   {"samples", o.samples},
                   {"greedy", o.greedy},
                   {"temperature", o.temperature},
                   {"seed", o.seed},
                   {"device", device.on_host() ? "cpu"
                              : model.exact    ? "gpu, exact"
                                               : "gpu"},
                   {"models", Json::array()}};
  if (!o.common.chat_template.empty()) settings["chat_template"] = o.common.chat_template;
  for (const LoadedModel& m : models) {
    settings["models"].push_back({{"run", m.run}, {"step", m.step}, {"weights", m.weights}});
  }
  return settings;
}

std::string how_asked(const EvalTaskOptions& o, int64_t problems) {
  if (o.greedy) return fmt::format("{} held-out problems, a greedy response to each", problems);
  return fmt::format("{} held-out problems, {} {} to each at temperature {}", problems, o.samples,
                     o.samples == 1 ? "response" : "responses", o.temperature);
}

}  // namespace

std::vector<Field> fields(EvalTaskOptions& o) {
  return joined(
      {titled("Prompt", joined({fields(o.common.chat), {chat_template_field(o.common.chat_template)}})),
       {{"task", one_of(o.common.task, names_of(text_tasks())), "evaluate on the held-out problems of a task"},
        {"problems", &o.problems, "held-out problems, or as many as there are", whole_from(1, 100000)},
        {"samples", &o.samples, "responses to each problem", whole_from(1, 10000)},
        {"k", &o.k, "for pass@k and the majority vote maj@k, as in 1,8; empty: 1 and --samples"},
        {"temperature", &o.temperature, "of the responses; it divides the logits", kPositive},
        flag("greedy", o.greedy, "the likeliest token instead of a sample"),
        {"seed", &o.seed, "of the samples; models side by side have the same"},
        {"max-rows", &o.max_rows, "responses sampled at a time; at least those to a problem", whole_from(1, 1000000)},
        {"out", &o.out, "a folder for results.jsonl, summary.json and summary.md; an evaluation goes on there"},
        flag("audit", o.audit, "of a task that the grader of mathematics scores: verdicts to look at, in --out")}});
}

bool has_task(const std::string& run) {
  if (!pretrained_path(run).empty()) return false;
  return load_checkpoint(checkpoint_of(run)).state.metadata.contains("task");
}

namespace {

void take_options_of_run(const EvalModelOptions& model, Given& given) {
  if (!pretrained_path(model.run).empty()) return;
  const Checkpoint checkpoint = load_checkpoint(checkpoint_of(model.run, model.best));
  const auto& texts = checkpoint.state.metadata;
  const auto take = [&](const std::vector<Field>& fields, const char* key) {
    if (!texts.contains(key)) return;
    set_from_json(fields, texts.at(key), model.run + ": " + key);
    for (const Field& field : fields) given.fall_back(field.name, field.text());
  };
  ChatTaskOptions chat;
  take(fields(chat), "chat_options");
  if (!texts.contains("task")) return;
  const std::string& task = texts.at("task");
  given.fall_back("task", task);
  if (given.text("task") == task)
    take(find_row(text_tasks(), model.run + ": task", task).setup().fields, "task_options");
}

void write_audit(const EvalFolder& folder, const EvalAudit& audit, int64_t responses) {
  folder.write("audit.jsonl", audit.lines);
  const int64_t verdicts = std::accumulate(audit.counts.begin(), audit.counts.end(), int64_t{0});
  remark(stderr, "{}/audit.jsonl: {} verdicts to look at, of {} responses\n", folder.path(), verdicts, responses);
  for (size_t i = 0; i < audit.counts.size(); ++i) {
    remark(stderr, "  {:7} {:6}  {}\n", audit_reasons()[i].name, audit.counts[i], audit_reasons()[i].about);
  }
}

void check_options(const EvalTaskOptions& o, const EvalModelOptions& model, const Given& given) {
  check(!o.greedy || o.samples == 1, "pg eval: greedy responses to a problem are all equal; --greedy with --samples {}",
        o.samples);
  check(!o.greedy || !given.has("temperature"), "pg eval: --greedy has no --temperature");
  check(model.adapter.empty() || o.against.empty(),
        "pg eval: --adapter is for one model; merge the adapters with pg export to compare models");
  check(!o.audit || !o.out.empty(), "pg eval: --audit writes audit.jsonl into --out FOLDER, which is missing");
}

// An evaluation: models on problems of a task.
struct Evaluation {
  const EvalTaskOptions& o;
  Device device;
  std::unique_ptr<TextTask> task;
  std::vector<LoadedModel> models = {};
  std::vector<Problem> problems = {};
  Json settings = {};
  std::optional<EvalFolder> folder = {};
  std::vector<rl::EvalResponse> responses = {};  // of all models

  int64_t count() const { return std::ssize(problems); }
  int64_t rows() const { return std::max<int64_t>(1, o.max_rows / o.samples); }  // problems at a time
  int64_t each() const { return count() * o.samples; }                           // responses of a model
  int64_t total() const { return each() * std::ssize(models); }

  void check_sizes() const;
  void print_sizes() const;
  void read_folder();
  bool respond();
  EvalReport report(const std::vector<int64_t>& ks) const;
};

// Error if the responses do not fit into the memory.
void Evaluation::check_sizes() const {
  for (const LoadedModel& m : models) {
    check_rollout_memory(used_config(*m.model, *task), std::min(rows(), count()) * o.samples,
                         "a smaller --max-rows or fewer --samples");
  }
  check_memory(1e3 * static_cast<double>(each()) * static_cast<double>(models.size()),
               fmt::format("{} x {} responses of {} models", count(), o.samples, models.size()),
               "fewer --problems or --samples");
}

void Evaluation::print_sizes() const {
  const TransformerConfig used = used_config(*models[0].model, *task);
  if (count() < o.problems)
    remark(stderr, "{} has {} held-out problems, fewer than {}\n", task->name(), count(), o.problems);
  print_memory(stderr,
               {.model = used,
                .references = std::ssize(models) - 1,
                .cache_rows = std::min(rows(), count()) * o.samples,
                .cache_columns = used.block_size},
               device, static_cast<double>(models.size()) * weight_bytes(*models[0].model),
               "a smaller --max-rows, fewer --samples, or --dtype bf16");
}

// Opens --out, with the responses of an evaluation that was stopped there.
void Evaluation::read_folder() {
  folder.emplace(o.out, settings);
  responses = folder->read(std::ssize(models), count(), o.samples);
  for (size_t i = 0; i < responses.size(); ++i) {  // its problems may be those of another version of the task
    const Problem& problem = problems[static_cast<size_t>(responses[i].problem)];
    check(responses[i].question == rl::question_of(*task, problem),
          "evaluation folder {}: line {} of its results.jsonl is about '{:.100}', the task asks '{:.100}'", o.out,
          i + 1, responses[i].question, rl::question_of(*task, problem));
  }
  catch_interrupt();
}

// Samples the responses that are missing. False if it was interrupted.
bool Evaluation::respond() {
  rl::EvalConfig config{.samples = o.samples, .temperature = o.temperature, .greedy = o.greedy, .seed = o.seed};
  Progress progress(std::ssize(responses), total());
  std::unique_ptr<Sampler> sampler;
  int64_t sampled = -1;  // the model of the sampler
  while (std::ssize(responses) < total()) {
    const int64_t done = std::ssize(responses), which = done / each(), first = done % each() / o.samples;
    LoadedModel& model = models[static_cast<size_t>(which)];
    if (sampled != which) sampler.reset();  // its memory first
    if (!sampler) sampler = std::make_unique<Sampler>(*model.model);
    sampled = which;
    config.sampler = sampler.get();
    std::vector<std::string> lines;
    for (const rl::EvalResponse& r :
         rl::evaluate(*model.model, *task, problems, first, std::min(first + rows(), count()), config)) {
      lines.push_back(eval_line(which, r));
      // What a later call would read, so that it finds the same.
      responses.push_back(eval_response(lines.back(), which, "pg eval"));
    }
    if (folder) folder->append(lines);
    progress.update(std::ssize(responses), model.run);
    if (folder && interrupted() && std::ssize(responses) < total()) {
      progress.print(
          fmt::format("stopped after {} of {} responses; the same command continues", responses.size(), total()));
      return false;
    }
  }
  return true;
}

EvalReport Evaluation::report(const std::vector<int64_t>& ks) const {
  EvalReport report;
  report.task = fmt::format("{}: {}", task->name(), task->about());
  report.how = how_asked(o, count());
  for (size_t i = 0; i < models.size(); ++i) {
    const auto of_model = std::span(responses).subspan(i * static_cast<size_t>(each()), static_cast<size_t>(each()));
    report.models.push_back({models[i].run, models[i].step, rl::summarize(of_model, o.samples, ks)});
  }
  return report;
}

}  // namespace

int evaluate_task(EvalTaskOptions& o, const EvalModelOptions& model, Given& given) {
  take_options_of_run(model, given);
  choose_task(o.common, given);
  const std::vector<int64_t> ks = ks_of(o);
  check_options(o, model, given);
  const Device device = parse_device(model.device);
  backend(device).set_exact(model.exact);
  start_threads(model.threads);
  o.common.init = model.run;  // a chat model is asked in its own format
  Evaluation e{o, device, make_task(o.common)};
  check(!o.audit || e.task->uses_grader(),
        "pg eval: --audit shows verdicts of the grader of mathematics; the task {} does not use it", e.task->name());
  e.models.push_back(load_model(model.run, model, *e.task, device, o.common.dtype));
  for (const std::string& run : o.against) e.models.push_back(load_model(run, model, *e.task, device, o.common.dtype));
  e.problems = e.task->held_out(o.problems);
  check(!e.problems.empty(), "pg eval: the task {} has no held-out problems", e.task->name());
  e.check_sizes();
  e.settings = settings_of(o, model, e.models, e.count(), device);
  if (!o.out.empty()) e.read_folder();
  e.print_sizes();
  if (!e.respond()) return interrupt_status();

  const EvalReport report = e.report(ks);
  const Json json = report.json(e.settings);
  if (e.folder) {
    e.folder->write("summary.json", json.dump(2, Json::Utf8::replace) + "\n");
    e.folder->write("summary.md", report.markdown());
  }
  if (o.audit) {
    write_audit(*e.folder, audit_evaluation(*e.task, e.problems, e.responses, std::ssize(e.models)), e.total());
  }
  fmt::print("{}", model.json ? json.dump(-1, Json::Utf8::replace) + "\n" : report.text());
  return 0;
}

}  // namespace pg::tools
