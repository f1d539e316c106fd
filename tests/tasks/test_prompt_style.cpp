// Prompt styles: what a pretrained model reads, where its response ends, and which part of it is the answer.
#include <fstream>
#include <set>

#include "tasks/chat/chat_data.h"
#include "tasks/grade/extract.h"
#include "tasks/puzzles/chat_task.h"
#include "tasks/puzzles/math.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;
using testing::contains;
using testing::error_of;
using testing::TempDir;

namespace {

// Bytes, and Qwen's special tokens. Without an end, no text ends.
std::shared_ptr<const BpeTokenizer> qwen_tokenizer(bool with_end = true) {
  return std::make_shared<const BpeTokenizer>(
      testing::byte_tokenizer({"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, with_end ? 256 : -1));
}
std::unique_ptr<TextTask> task_in(const std::string& style, double format_reward = 0) {
  ChatTaskOptions options;
  options.prompt.style = style;
  options.format_reward = format_reward;
  options.response = 400;
  return chat_task(math_puzzles(), qwen_tokenizer(), {}, options);
}
Score score(const TextTask& task, const Problem& problem, const std::string& response, bool ends = false) {
  std::vector<int32_t> ids = task.tokenizer().encode(response);
  if (ends) ids.push_back(task.end_id());
  return task.score(problem, ids);
}
std::string answer(std::string_view text, bool strict = false) {
  return std::string(answer_after_thought(text, strict).value_or("none"));
}

}  // namespace

TEST_CASE("CS336 r1_zero: the answer after the thought", "[tasks][grade][cs336]") {
  CHECK(answer("a </think> <answer>16</answer>") == "16");
  CHECK(answer("a </think> <answer> 16 </answer>") == " 16 ");
  CHECK(answer("a </think> <answer>\\boxed{\\frac{1}{2}}</answer>") == "\\frac{1}{2}");
  CHECK(answer("a </think> <answer>so \\boxed{1} or \\boxed{2}</answer>") == "2");
  CHECK(answer("a </think> <answer>\\boxed{1</answer>") == "\\boxed{1");  // the form is right, the answer is not
  CHECK_FALSE(is_equal_answer("\\boxed{1", "1"));
  CHECK_FALSE(is_equal_answer("the answer is 16", "16"));
  // The last <answer> counts, but only up to the first </answer>: nothing after it was asked for.
  CHECK(answer("</think> <answer>1 no </think> <answer>2</answer>") == "2");
  CHECK(answer("</think> <answer>1</answer> or </think> <answer>2</answer>") == "1");
  CHECK(answer("</think> <answer>16</answer> trailing \\boxed{7}") == "16");
  CHECK(answer("</think> <answer></answer>").empty());
  // White space between the tags: any, or one space.
  for (const char* between : {"", "\n", "  ", "\r\n\t", " \n"}) {
    INFO('\'' << between << '\'');
    const std::string text = fmt::format("a </think>{}<answer>5</answer>", between);
    CHECK(answer(text) == "5");
    CHECK(answer(text, /*strict=*/true) == "none");
  }
  CHECK(answer("a </think> <answer>5</answer>", /*strict=*/true) == "5");
  for (const char* text : {"", "16", "The answer is 16", "<answer>16</answer>", "</think> 16", "</think> <answer>16",
                           "<answer>1</answer> </think>", "</think> so <answer>16</answer>",
                           "</think></answer>16<answer>", "</THINK> <answer>16</answer>", " <answer>1</answer>",
                           "</think> x <answer>1</answer> </think> <answer>2</answer>"}) {
    INFO(text);
    CHECK(answer(text) == "none");
    CHECK(answer(text, true) == "none");
  }
}

TEST_CASE("CS336 parse_gsm8k_response: the last number in a text", "[tasks][grade][cs336]") {
  const auto last = [](std::string_view text) { return std::string(last_number(text).value_or("none")); };
  CHECK(last("Natalia sold 48/2 = 24 in May. So 48+24 = 72 clips in April and May.") == "72");
  CHECK(last("She has $1,234.50.") == "1,234.50");
  CHECK(last("1,2") == "2");
  CHECK(last("12,345,678 and") == "12,345,678");
  CHECK(last("1,2345") == "2345");
  CHECK(last("it is -7") == "-7");
  CHECK(last("-7") == "-7");
  CHECK(last("9-7") == "7");
  CHECK(last("x -7!") == "-7");
  CHECK(last("(3)-2") == "2");
  CHECK(last("about .5") == ".5");
  CHECK(last("3.") == "3");
  CHECK(last("in 2020.5.3") == "5.3");
  CHECK(last("7") == "7");
  for (const char* text : {"", "none", "-", ".", ",", "polyomaviruses"}) CHECK(last(text) == "none");
}

TEST_CASE("CS336 parse_mmlu_response: the letter of a choice", "[tasks][grade][cs336]") {
  const auto choice = [](std::string_view text) { return stated_choice(text).value_or("-")[0]; };
  CHECK(choice("The correct answer is B. There is only one difference.") == 'B');
  CHECK(choice("The answer is A or so. No: the ANSWER IS: (D)") == 'D');
  CHECK(choice(" C") == 'C');
  CHECK(choice("(A)") == 'A');
  CHECK(choice("B. 12 clips") == 'B');
  for (const char* text : {"", "The correct answer is 10000 polyomaviruses.", "The answer is E",
                           "The answer is Because", "Apples", "A dog", "The answer is", "A1", "a", "I choose B"}) {
    INFO(text);
    CHECK(choice(text) == '-');
  }

  // A file of questions of multiple choice is a task.
  const TempDir dir;
  const std::string file = dir.file("mmlu.jsonl");
  {
    std::ofstream out(file);
    for (int i = 0; i < 40; ++i) {
      out << fmt::format("{{\"problem\": \"{} + 1?\\nA. 0\\nB. {}\\nC. -1\\nD. -2\", \"answer\": \"B\"}}\n", i, i + 1);
    }
  }
  ChatTaskOptions options;
  options.prompt.answer_format = "choice";
  const auto task = chat_task(math_puzzles({.file = file}), qwen_tokenizer(), ChatTemplate("qwen2.5"), options);
  const Problem problem = task->held_out(1)[0];
  CHECK(task->score(problem, problem.answer).reward == 1);
  CHECK(score(*task, problem, "B. it is one more", true).solved);
  CHECK_FALSE(score(*task, problem, "The answer is A.", true).solved);
  CHECK(score(*task, problem, "It is one more.", true).formatted == false);
}

TEST_CASE("prompt styles: a right answer has all of the reward and every prompt fits", "[tasks][puzzles][cs336]") {
  for (const PromptStyle& style : prompt_styles()) {
    if (style.name == "chat") continue;
    INFO(style.name);
    const auto task = task_in(style.name);
    Generator generator(3);
    for (int i = 0; i < 20; ++i) {
      const Problem problem = task->sample(generator);
      CHECK(task->score(problem, problem.answer).reward == 1);
      CHECK(task->score(problem, problem.answer).solved);
      CHECK(task->answer_of(problem.answer) == problem.puzzle->answer);
      CHECK(std::ssize(problem.prompt) <= task->max_prompt());
      CHECK(std::ssize(problem.answer) <= task->max_response());
      CHECK(task->shown(problem.prompt) == problem.puzzle->request);
      CHECK(contains(task->text(problem.prompt), problem.puzzle->request));
    }
  }
  CHECK(task_in("r1-zero")->stop_texts() == std::vector<std::string>{"</answer>"});
  CHECK(task_in("question")->stop_texts().empty());
  const auto prompt_of = [](const char* style) {
    const auto task = task_in(style);
    return task->text(task->held_out(1)[0].prompt);
  };
  const std::string request = task_in("question")->held_out(1)[0].puzzle->request;
  CHECK(prompt_of("question") == request);
  CHECK(prompt_of("r1-zero").ends_with("\nUser: " + request + "\nAssistant: <think>"));
  CHECK(prompt_of("r1-zero") == prompt_of("r1-zero-strict"));
  CHECK(prompt_of("qwen") ==
        "<|im_start|>system\nPlease reason step by step, and put your final answer within \\boxed{}.<|im_end|>\n"
        "<|im_start|>user\n" +
            request + "<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("prompt styles: the reward is 1 only for form and answer, and the form earns nothing",
          "[tasks][puzzles][cs336]") {
  const auto task = task_in("r1-zero"), strict = task_in("r1-zero-strict"), paid = task_in("r1-zero", 0.25);
  const Problem problem = task->held_out(1)[0];
  const std::string gold = problem.puzzle->answer;
  const auto right = score(*task, problem, " so </think> <answer>" + gold + "</answer>");
  CHECK((right.reward == 1 && right.solved && right.formatted == true));
  const auto wrong = score(*task, problem, " so </think> <answer>987654321</answer>");
  CHECK((wrong.reward == 0 && !wrong.solved && wrong.formatted == true));
  const auto bare = score(*task, problem, gold, true);
  CHECK((bare.reward == 0 && bare.formatted == false));
  // It ran into the limit, or ended without the tag.
  CHECK(score(*task, problem, " so </think> <answer>" + gold).formatted == false);
  CHECK(score(*task, problem, " so </think> <answer>" + gold, true).formatted == false);
  CHECK(score(*task, problem, "").formatted == false);
  // What the model writes after </answer> in the same token changes nothing.
  CHECK(score(*task, problem, "</think> <answer>" + gold + "</answer>\n\nUser: <answer>7</answer>").solved);
  CHECK_FALSE(score(*task, problem, "</think> <answer>987654321</answer> <answer>" + gold + "</answer>").solved);
  CHECK(score(*task, problem, "</think>\n<answer>" + gold + "</answer>").solved);
  CHECK(score(*strict, problem, "</think>\n<answer>" + gold + "</answer>").reward == 0);
  CHECK(score(*strict, problem, "</think> <answer>" + gold + "</answer>").reward == 1);
  CHECK(score(*paid, problem, "</think> <answer>987654321</answer>").reward == Approx(0.2));
  CHECK(score(*paid, problem, "</think> <answer>" + gold + "</answer>").reward == Approx(1));
  // The question alone: the last box, of a response that has ended.
  const auto question = task_in("question");
  CHECK(score(*question, problem, "It is \\boxed{" + gold + "}.", true).reward == 1);
  CHECK(score(*question, problem, "It is \\boxed{" + gold + "}.").reward == 0);
  CHECK(score(*question, problem, gold, true).formatted == false);
}

TEST_CASE("defect: the prompt of training is not that of evaluation", "[tasks][puzzles][cs336]") {
  const TempDir dir;
  const std::string file = dir.file("traces.jsonl"), custom = dir.file("prompt.txt");
  std::ofstream(custom) << "Solve.\n\nUser: {question}\nAssistant: <think>\n";
  const auto tokenizer = qwen_tokenizer();
  for (const bool with_file : {false, true}) {
    const PromptOptions options{.style = "r1-zero", .file = with_file ? custom : ""};
    const Prompt prompt(options, tokenizer, {});
    ChatTaskOptions of_task;
    of_task.prompt = options;
    const auto task = chat_task(math_puzzles(), tokenizer, {}, of_task);
    const Problem problem = task->held_out(1)[0];
    const std::string text = task->text(problem.prompt), question = problem.puzzle->request;
    CHECK(prompt.question_of(text) == question);
    const auto line = [&](const std::string& key, std::string value) {
      for (size_t i = 0; (i = value.find_first_of("\"\\\n", i)) != std::string::npos; i += 2) {
        value.replace(i, 1, value[i] == '\n' ? "\\n" : std::string("\\") + value[i]);
      }
      std::ofstream(file) << fmt::format(
          "{{\"{}\": \"{}\", \"response\": \" so </think> <answer>5</answer> or </answer> more\", \"ground_truth\": "
          "\"5\"}}\n",
          key, value);
    };
    const auto read = [&] { return read_chat_data(file, *tokenizer, {.prompt = &prompt, .max_length = 2000}); };
    // The whole prompt, or the question under either name, gives the ids that the evaluation asks with. The response
    // is learned as far as it would have been generated, without another end.
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"prompt", text}, {"question", question}, {"problem", question}}) {
      INFO(key);
      line(key, value);
      const TunedText trace = read().train.at(0);
      std::vector<int32_t> want = problem.prompt;
      const auto response = tokenizer->encode(" so </think> <answer>5</answer>");
      want.insert(want.end(), response.begin(), response.end());
      CHECK(trace.ids == want);
      CHECK(std::count(trace.learned.begin(), trace.learned.end(), 1) == std::ssize(response));
      CHECK(trace.learned.at(problem.prompt.size() - 1) == 0);
      CHECK(trace.learned.at(problem.prompt.size()) == 1);
    }
    // The seed's defect: a blank line more before "User:".
    std::string other = text;
    other.insert(other.find("\nUser: "), "\n");
    line("prompt", other);
    CHECK(contains(error_of(read), file + ":1: its prompt is not one of --prompt-style r1-zero"));
    line("prompt", question);
    CHECK(contains(error_of(read), "its prompt is not one of"));
    line("question", "");
    CHECK(error_of(read) == "");
  }
}

TEST_CASE("defect: unique examples are rows", "[tasks][cs336]") {
  const TempDir dir;
  const std::string file = dir.file("traces.jsonl");
  {
    std::ofstream out(file);
    for (const char* question : {"a", "a", "b", "a", "c", "b", "d"}) {
      out << fmt::format("{{\"question\": \"{}\", \"completion\": \"</think> <answer>1</answer>\"}}\n", question);
    }
  }
  const auto tokenizer = qwen_tokenizer();
  const Prompt prompt({.style = "r1-zero"}, tokenizer, {});
  const auto read = [&](int64_t unique) {
    return read_chat_data(file, *tokenizer, {.prompt = &prompt, .unique = unique, .max_length = 1000});
  };
  CHECK(std::ssize(read(0).train) == 7);
  CHECK(read(0).prompts == 4);
  CHECK(std::ssize(read(1).train) == 3);  // all lines of "a"
  CHECK(std::ssize(read(2).train) == 5);
  CHECK(read(2).prompts == 2);
  CHECK(std::ssize(read(9).train) == 7);
}

TEST_CASE("prompt styles: what contradicts itself is refused", "[tasks][puzzles][cs336]") {
  const TempDir dir;
  const auto tokenizer = qwen_tokenizer();
  const auto error = [&](PromptOptions o, const ChatTemplate& format = {}) {
    return error_of([&] { Prompt(o, tokenizer, format); });
  };
  CHECK(contains(error({.style = "chat"}), "has no chat template"));
  CHECK(contains(error({.style = "r1zero"}), "r1-zero"));
  CHECK(contains(error({.style = "r1-zero", .answer_format = "boxed"}), "is for --prompt-style chat"));
  CHECK(contains(error({.style = "question", .system = "Be brief."}), "--system is for turns"));
  CHECK(contains(error({.style = "r1-zero", .file = dir.file("none")}), dir.file("none")));
  for (const char* text : {"", "no question", "{question} and {question}"}) {
    std::ofstream(dir.file("prompt")) << text;
    CHECK(contains(error({.style = "r1-zero", .file = dir.file("prompt")}), "must have {question} once"));
  }
  CHECK(error({.style = "qwen"}) == "");
  CHECK(contains(error({.style = "question", .template_kwargs = "{}"}), "--chat-template-kwargs is for turns"));
  CHECK(contains(error({.style = "qwen", .template_kwargs = "{\"enable_thinking\": false}"}),
                 "the chat template (qwen2.5-math) does not read the variable enable_thinking"));
  const ChatTemplate no_system(
      "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>{{ m.content }}<|im_end|>"
      "{% endif %}{% endfor %}");
  CHECK(contains(error({.system = "Be brief."}, no_system), "the same text with a system message and without it"));
  CHECK(error({.style = "qwen", .system = "Be brief."}) == "");
  const auto endless = qwen_tokenizer(/*with_end=*/false);
  if (endless->end_id() < 0) {
    CHECK(contains(error_of([&] { Prompt({.style = "question"}, endless, {}); }), "no token that ends a text"));
    CHECK(error_of([&] { Prompt({.style = "r1-zero"}, endless, {}); }) == "");
  }
}

TEST_CASE("the user words the request of a turn", "[tasks][puzzles]") {
  const TempDir dir;
  const std::string own = dir.file("turn.txt"), file = dir.file("problems.jsonl");
  std::ofstream(own) << "Think first.\n{question}\nEnd with \\boxed{}.\n";
  std::ofstream(file) << R"({"problem": "What is 6 times 7?", "answer": "42"})";
  const auto task = chat_task(math_puzzles({.file = file}), qwen_tokenizer(), ChatTemplate("chatml"),
                              {.prompt = {.answer_format = "boxed", .file = own}});
  Generator generator(1);
  const Problem problem = task->sample(generator);
  CHECK(task->text(problem.prompt) ==
        "<|im_start|>user\nThink first.\nWhat is 6 times 7?\nEnd with \\boxed{}.<|im_end|>\n<|im_start|>assistant\n");
  CHECK(task->shown(problem.prompt) == "What is 6 times 7?");
  CHECK(task->score(problem, problem.answer).solved);
}

TEST_CASE("math: the held-out problems are those of the other file", "[tasks][puzzles][cs336]") {
  const TempDir dir;
  const auto write = [&](const std::string& name, std::initializer_list<int> numbers) {
    std::ofstream out(dir.file(name));
    for (const int n : numbers) out << fmt::format("{{\"problem\": \"What is {}?\", \"answer\": \"{}\"}}\n", n, n);
    return dir.file(name);
  };
  const std::string train = write("train", {1, 2, 3, 4}), held_out = write("val", {3, 7, 8});
  const auto task = math_puzzles({.file = train, .held_out_file = held_out});
  std::set<std::string> drawn, kept;
  Generator generator(1);
  for (int i = 0; i < 200; ++i) drawn.insert(draw_puzzle(*task, generator, false).answer);
  for (const Puzzle& p : held_out_puzzles(*task, 100)) kept.insert(p.answer);
  CHECK(drawn == std::set<std::string>{"1", "2", "4"});  // 3 is held out
  CHECK(kept == std::set<std::string>{"3", "7", "8"});
  CHECK(task->requests().size() == 6);
  CHECK(contains(error_of([&] { math_puzzles({.held_out_file = held_out}); }), "needs --file"));
  CHECK(contains(error_of([&] { math_puzzles({.file = held_out, .held_out_file = held_out}); }),
                 "none is left to train on"));
}
