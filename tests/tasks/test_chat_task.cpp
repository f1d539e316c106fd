// Puzzles for chat models: what the model reads, and which part of its response is the answer.
#include "tasks/grade/extract.h"
#include "tasks/puzzles/chat_task.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

ChatTemplate format(const char* name) { return ChatTemplate(name); }

struct Fixture {
  explicit Fixture(const ChatTaskOptions& options, const ArithmeticOptions& arithmetic = {})
      : task(chat_task(arithmetic_puzzles(arithmetic), testing::shared_byte_tokenizer(), format("chatml"), options)) {
    Generator generator(1);
    problem = task->sample(generator);
    gold = problem.puzzle->gold;
  }
  Score of(const std::string& text, bool ends = true) const {
    std::vector<int32_t> ids = task->tokenizer().encode(text);
    if (ends) ids.push_back(task->end_id());
    return task->score(problem, ids);
  }
  std::unique_ptr<TextTask> task;
  Problem problem;
  std::string gold;
};

}  // namespace

TEST_CASE("extract: boxed answers and tags", "[tasks][grade]") {
  const auto boxed = [](std::string_view text) { return std::string(last_boxed(text).value_or("none")); };
  CHECK(boxed("\\boxed{5}") == "5");
  CHECK(boxed("first \\boxed{1}, then \\boxed{\\frac{1}{2}} .") == "\\frac{1}{2}");
  CHECK(boxed("\\fbox{a} \\boxed{b}") == "b");
  CHECK(boxed("\\boxed{b} \\fbox{a}") == "a");
  CHECK(boxed("\\boxed {x}") == "x");
  CHECK(boxed("\\boxed{\\{1, 2\\}}") == "\\{1, 2\\}");
  CHECK(boxed("\\boxed{}").empty());
  for (const char* text : {"", "5", "\\boxed", "\\boxed5", "\\boxed{", "\\boxed{a{b}", "\\boxed{1} \\boxed{2",
                           "boxed{3}", "\\boxed{\\}"}) {
    INFO(text);
    CHECK(boxed(text) == "none");
  }
  const auto tagged = [](std::string_view text) { return std::string(last_tagged(text, "answer").value_or("none")); };
  CHECK(tagged("<answer>5</answer>") == "5");
  CHECK(tagged("thus <answer>1</answer> no: <answer> 2 </answer> \n") == " 2 ");
  CHECK(tagged("<answer></answer>").empty());
  for (const char* text : {"", "<answer>5", "5</answer>", "<answer>5</answer> trailing", "<Answer>5</Answer>",
                           "</answer>5<answer>", "<answer>1</answer><answer>2"}) {
    INFO(text);
    CHECK(tagged(text) == "none");
  }
  CHECK(trimmed(" \t\n a b \r\n") == "a b");
  CHECK(trimmed(" \n").empty());
}

TEST_CASE("chat task: the prompt is the conversation and a right answer has all of the reward", "[tasks][puzzles]") {
  for (const AnswerFormat& row : answer_formats()) {
    if (row.name == "choice") continue;  // a sum is no letter
    INFO(row.name);
    const Fixture f({.prompt = {.answer_format = row.name, .system = "Be brief."}});
    const std::string prompt = f.task->text(f.problem.prompt);
    CHECK(prompt.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is "));
    CHECK(prompt.ends_with("<|im_end|>\n<|im_start|>assistant\n"));
    CHECK(f.task->shown(f.problem.prompt) == f.problem.puzzle->request);
    CHECK(std::ssize(f.problem.prompt) <= f.task->max_prompt());
    CHECK(f.task->score(f.problem, f.problem.answer).reward == 1);
    CHECK(f.task->score(f.problem, f.problem.answer).solved);
    CHECK(f.problem.answer.back() == f.task->end_id());
    CHECK(f.of(row.before + f.gold + row.after, false).reward == 0);  // ran into the limit
    CHECK(f.of(row.before + f.gold + "1" + row.after).reward == 0);
    CHECK(f.of("").reward == 0);
    CHECK(f.task->score(f.problem, {}).reward == 0);
    CHECK(f.task->metadata().at("chat_template") == "chatml");
    for (const Problem& p : f.task->held_out(20)) CHECK(is_held_out(*p.puzzle));
  }
}

TEST_CASE("chat task: the answer is where the format says", "[tasks][puzzles]") {
  const Fixture bare({.prompt = {.answer_format = "bare"}});
  CHECK(bare.of(" " + bare.gold + "\n").solved);
  CHECK(bare.of("The answer is " + bare.gold).reward == 0);
  CHECK(bare.of("<answer>" + bare.gold + "</answer>").reward == 0);
  const Fixture tags({.prompt = {.answer_format = "tags"}});
  CHECK(tags.of("I think <answer> " + tags.gold + " </answer>").solved);
  CHECK(tags.of("<answer>" + tags.gold + "</answer> or 7").reward == 0);
  CHECK(tags.of(tags.gold).reward == 0);
  const Fixture boxed({.prompt = {.answer_format = "boxed"}});
  CHECK(boxed.of("so it is \\boxed{" + boxed.gold + "}.").solved);
  CHECK(boxed.of("\\boxed{" + boxed.gold + "} or \\boxed{7777}").reward == 0);
}

TEST_CASE("chat task: a reward for the format is small and apart", "[tasks][puzzles]") {
  const Fixture f({.prompt = {.answer_format = "tags"}, .format_reward = 0.25});
  const Score right = f.of("<answer>" + f.gold + "</answer>"), wrong = f.of("<answer>77777</answer>"), none = f.of("5");
  CHECK(right.reward == Approx(1));
  CHECK(wrong.reward == Approx(0.2));
  CHECK(none.reward == 0);
  for (const Score& score : {right, wrong, none}) {
    REQUIRE(score.parts.size() == 2);
    CHECK(score.parts[0].first == "right");
    CHECK(score.parts[1].first == "format");
    CHECK(score.parts[0].second + score.parts[1].second == Approx(score.reward));
  }
  CHECK_FALSE(wrong.solved);
}

TEST_CASE("chat task: what cannot be asked is an error", "[tasks][puzzles]") {
  CHECK(contains(error_of([] { Fixture f({.prompt = {.answer_format = "xml"}}); }), "bare, tags, boxed"));
  CHECK(contains(error_of([] { Fixture f({.response = 1}); }), "response must be"));
  CHECK(contains(error_of([] { chat_task(arithmetic_puzzles(), testing::shared_byte_tokenizer(), format("llama3")); }),
                 "<|eot_id|>"));
}

TEST_CASE("chat task: an imitated answer is the turn that the model's own template writes", "[tasks][puzzles]") {
  const auto tokenizer = testing::shared_byte_tokenizer();
  const auto task = chat_task(arithmetic_puzzles({}), tokenizer, format("qwen3"), {});
  const Problem problem = task->held_out(1)[0];
  CHECK(task->text(problem.answer) == "<think>\n\n</think>\n\n" + problem.puzzle->answer + "<|im_end|>");
  CHECK(task->score(problem, problem.answer).reward == 1);
  // The thought is no part of the answer.
  const auto of = [&](const std::string& text) {
    std::vector<int32_t> ids = tokenizer->encode(text);
    ids.push_back(task->end_id());
    return task->score(problem, ids);
  };
  CHECK(of("<think>\nI add.\n</think>\n\n" + problem.puzzle->answer).solved);
  CHECK_FALSE(of("<think>\n" + problem.puzzle->answer + "\n</think>\n\nno").solved);
  // Without thinking, the prompt has the empty thought, and the answer is bare.
  const auto quick = chat_task(arithmetic_puzzles({}), tokenizer, format("qwen3"),
                               {.prompt = {.template_kwargs = R"({"enable_thinking": false})"}});
  const Problem other = quick->held_out(1)[0];
  CHECK(quick->text(other.prompt).ends_with("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  CHECK(quick->text(other.answer) == other.puzzle->answer + "<|im_end|>");
  CHECK(quick->metadata().at("chat_variables") == R"({"enable_thinking":false})");
}

TEST_CASE("chat task: a template that trims contents has prompts that are shown", "[tasks][puzzles]") {
  const ChatTemplate trims(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
  const auto task = chat_task(arithmetic_puzzles({}), testing::shared_byte_tokenizer(), trims, {});
  const Problem problem = task->held_out(1)[0];
  CHECK(task->shown(problem.prompt) == problem.puzzle->request);
  CHECK(task->metadata().at("chat_template") == trims.program());
}
