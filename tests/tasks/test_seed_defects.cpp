// Faults that were seen in rewards and parsers of other implementations of these tasks, each as a test of ours with the
// fault as its name. A wrong answer never earns more than a right one.
#include <algorithm>
#include <set>
#include <sstream>

#include "tasks/puzzles/chat_task.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"

using namespace pg;

namespace {

Puzzle puzzle_of(const std::string& text, const std::string& gold) {
  Puzzle p;
  p.question = p.request = text;
  p.gold = gold;
  return p;
}

const std::vector<std::string> kGroups = {"red,blue,green,black", "ant,bee,fly,moth", "oak,elm,ash,pine",
                                          "cup,plate,fork,spoon"};
double connections(const std::string& answer, double soft = 0.5) {
  const auto task = connections_puzzles({.soft = soft});
  // The gold of a drawn puzzle says how the task writes its groups.
  Generator g(1);
  Puzzle p = task->draw(g);
  std::vector<std::string> words;
  std::string all = p.answer;
  std::ranges::replace(all, ';', ',');
  for (std::stringstream in(all); std::getline(in, all, ',');) words.push_back(all);
  // The words of kGroups stand for those of the puzzle, group by group.
  std::string text = answer;
  size_t k = 0;
  for (const std::string& group : kGroups) {
    std::string word;
    for (std::stringstream in(group); std::getline(in, word, ','); ++k) {
      for (const bool upper : {false, true}) {
        std::string from = word, to = words.at(k);
        if (upper) {
          for (std::string* s : {&from, &to})
            std::ranges::transform(*s, s->begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
        }
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
          text.replace(at, from.size(), "\x01" + to);
          at += 1;
        }
      }
    }
  }
  std::erase(text, '\x01');
  return task->grade(p, text).reward;
}
std::string groups(std::initializer_list<std::string> all, const char* between = ";") {
  std::string text;
  for (const std::string& group : all) text += (text.empty() ? "" : between) + group;
  return text;
}

double hanoi(const std::string& start, const std::string& answer) {
  static const auto task = hanoi_puzzles({.disks = 8, .progress = 0.9});
  return task->grade(puzzle_of(start, start), answer).reward;
}
double countdown(const std::string& question, const std::string& answer, double near = 0) {
  return countdown_puzzles({.near = near})->grade(puzzle_of(question, question), answer).reward;
}
double word_problem(const std::string& answer, const std::string& gold = "42") {
  static const auto task = word_problems();
  return task->grade(puzzle_of("Tom has 40 apples and buys 2 more. How many apples does Tom have now?", gold), answer)
      .reward;
}

}  // namespace

// ---- Connections

TEST_CASE("defect: one right group and nothing else scored as a perfect answer", "[tasks][defects]") {
  CHECK(connections(groups({kGroups[0], kGroups[1], kGroups[2], kGroups[3]})) == 1);
  for (const double soft : {0.0, 0.5}) {
    CHECK(connections(kGroups[0], soft) == Approx(0.25));
    CHECK(connections(groups({kGroups[0], kGroups[1]}), soft) == Approx(0.5));
  }
}

TEST_CASE("defect: a group given four times earned a reward", "[tasks][defects]") {
  CHECK(connections(groups({kGroups[0], kGroups[0], kGroups[0], kGroups[0]})) == 0);
  CHECK(connections(groups({"red,red,blue,blue", kGroups[1], kGroups[2], kGroups[3]})) == 0);
}

TEST_CASE("defect: a fifth group of another size was overlooked", "[tasks][defects]") {
  CHECK(connections(groups({kGroups[0], kGroups[1], kGroups[2], kGroups[3], "red,blue,green"})) == 0);
  CHECK(connections(groups({kGroups[0], kGroups[1], kGroups[2], "cup,plate", "fork,spoon"})) == 0);
}

TEST_CASE("defect: one word of each group in each group earned an eighth", "[tasks][defects]") {
  CHECK(connections(groups({"red,ant,oak,cup", "blue,bee,elm,plate", "green,fly,ash,fork", "black,moth,pine,spoon"})) ==
        0);
}

TEST_CASE("defect: upper case and lines between groups made right groups wrong", "[tasks][defects]") {
  CHECK(connections(groups({"RED,BLUE,GREEN,BLACK", kGroups[1], kGroups[2], kGroups[3]})) == 1);
  CHECK(connections(groups({kGroups[0], kGroups[1], kGroups[2], kGroups[3]}, "\n")) == 1);
}

TEST_CASE("defect: words were shown in the order of the solution", "[tasks][defects]") {
  const auto task = connections_puzzles();
  Generator g(5);
  int in_order = 0, first_four = 0;
  for (int i = 0; i < 200; ++i) {
    const Puzzle p = task->draw(g);
    std::string plain = p.answer;
    std::ranges::replace(plain, ';', ',');
    in_order += p.question == plain;
    // The first four words of the question are a group of the answer.
    std::set<std::string> shown, group;
    std::string word;
    std::stringstream question(p.question), answer(plain);
    for (int k = 0; k < 4 && std::getline(question, word, ','); ++k) shown.insert(word);
    for (int k = 0; k < 4 && std::getline(answer, word, ','); ++k) group.insert(word);
    first_four += shown == group;
  }
  CHECK(in_order == 0);
  CHECK(first_four <= 3);  // by chance 4 in 1820
}

TEST_CASE("defect: groups were shared by training and evaluation", "[tasks][defects]") {
  const auto task = connections_puzzles();
  const auto sets = [](const Puzzle& p) {
    std::set<std::set<std::string>> all;
    std::string group, word;
    for (std::stringstream in(p.answer); std::getline(in, group, ';');) {
      std::set<std::string> words;
      for (std::stringstream inside(group); std::getline(inside, word, ',');) words.insert(word);
      all.insert(words);
    }
    return all;
  };
  std::set<std::set<std::string>> held;
  for (const Puzzle& p : held_out_puzzles(*task, 300)) held.merge(sets(p));
  Generator g(6);
  for (int i = 0; i < 500; ++i) {
    for (const auto& group : sets(draw_puzzle(*task, g, false))) REQUIRE_FALSE(held.contains(group));
  }
}

// ---- Hanoi

TEST_CASE("defect: moving a disk to and fro earned more than the solution", "[tasks][defects]") {
  std::string moves;
  for (int i = 1; i <= 40; ++i) {
    moves += i % 2 == 1 ? "12 " : "21 ";
    CHECK(hanoi("111:3", moves) == 0);  // no nearer to the goal than at the start
  }
  CHECK(hanoi("111:3", "13 12 32 13 21 23 13") == 1);
}

TEST_CASE("defect: a legal first move was paid whatever it led to", "[tasks][defects]") {
  CHECK(hanoi("111:3", "12") == 0);
  CHECK(hanoi("111:3", "13") > 0);  // the first move of the solution
  CHECK(hanoi("111:3", "13") < hanoi("111:3", "13 12 32 13"));
  CHECK(hanoi("111:3", "13 12 32 13 21 23") < 1);
}

TEST_CASE("defect: moves after the solution were ignored", "[tasks][defects]") {
  CHECK(hanoi("111:3", "13 12 32 13 21 23 13 31") == 0);
  CHECK(hanoi("111:3", "13 12 32 13 21 23 13 99") == 0);
}

TEST_CASE("defect: a move of a disk that does not exist was played", "[tasks][defects]") {
  for (const char* text : {"902", "[9,0,2]", "[[9,0,2]]", "912", "9 13", "[[1,0,5]]", "15"})
    CHECK(hanoi("111:3", text) == 0);
}

TEST_CASE("defect: a puzzle needed more moves than a response may have", "[tasks][defects]") {
  for (const int64_t disks : {3, 4, 6, 8}) {
    for (const char* start : {"random", "standard"}) {
      const auto task = hanoi_puzzles({.disks = disks, .start = start});
      Generator g(7);
      for (int i = 0; i < 100; ++i) {
        const Puzzle p = task->draw(g);
        REQUIRE(std::ssize(p.answer) <= task->max_answer());
        REQUIRE(task->grade(p, p.answer).solved);
      }
    }
  }
}

TEST_CASE("defect: a long wrong answer had a reward below that of none", "[tasks][defects]") {
  std::string moves;
  for (int i = 0; i < 100; ++i) moves += "12 21 ";
  CHECK(hanoi("111:3", moves) >= hanoi("111:3", ""));
}

// ---- Countdown

TEST_CASE("defect: powers and floor division passed the filter of characters", "[tasks][defects]") {
  CHECK(countdown("2,4:16", "2**4") == 0);
  CHECK(countdown("2,4:16", "4**2") == 0);
  CHECK(countdown("2,7:3", "7//2") == 0);
  CHECK(countdown("2,4:8", "2*4") == 1);
}

TEST_CASE("defect: digits were joined to other numbers", "[tasks][defects]") {
  CHECK(countdown("2,4:24", "24") == 0);
  CHECK(countdown("2,4:24", "2 4") == 0);
  CHECK(countdown("2,4:42", "(4)(2)") == 0);
}

TEST_CASE("defect: the format earned a reward for a wrong value", "[tasks][defects]") {
  for (const char* text : {"2+4", "<think></think>\n<answer>2+4</answer>", "<answer>8</answer>", "2*4 = 8", "8"}) {
    CHECK(countdown("2,4:8", text) == 0);
  }
  // A partial reward for near values is chosen, and stays below that of the target.
  CHECK(countdown("2,4:8", "2+4", 0.2) == Approx(0.2 / 3));
  CHECK(countdown("2,4:8", "2*4", 0.2) == 1);
}

TEST_CASE("defect: a value within a tolerance of the target was right", "[tasks][defects]") {
  CHECK(countdown("1,3,9:3", "9*(1/3)") == 1);             // exact, although 1/3 is no binary fraction
  CHECK(countdown("13,19,20:12", "13*19/20", 0.9) < 0.9);  // 12.35
  // Near the target by 1/7 at the least here, and never 1.
  Generator g(3);
  const auto task = countdown_puzzles({.near = 0.99});
  for (int i = 0; i < 300; ++i) {
    const Puzzle p = task->draw(g);
    const Score score = task->grade(p, p.question.substr(0, p.question.find(',')));
    REQUIRE((score.solved || score.reward <= 0.99));
  }
}

TEST_CASE("defect: the same numbers in another order were in the test set", "[tasks][defects]") {
  const auto task = countdown_puzzles();
  Generator g(9);
  std::set<std::string> held;
  const auto sorted = [](const Puzzle& p) {
    const size_t colon = p.question.find(':');
    std::multiset<int> numbers;
    std::string number;
    for (std::stringstream in(p.question.substr(0, colon)); std::getline(in, number, ',');)
      numbers.insert(std::stoi(number));
    std::string key;
    for (const int n : numbers) key += fmt::format("{},", n);
    return key + p.question.substr(colon);
  };
  for (const Puzzle& p : held_out_puzzles(*task, 500)) held.insert(sorted(p));
  for (int i = 0; i < 3000; ++i) REQUIRE_FALSE(held.contains(sorted(draw_puzzle(*task, g, false))));
}

TEST_CASE("defect: a task had a reward but could not be trained on", "[tasks][defects]") {
  for (const PuzzleRow& row : puzzle_tasks()) {
    const auto task = make_text_task(row.name);
    Generator g(2);
    const Problem p = task->sample(g);
    CHECK(task->score(p, p.answer).solved);
  }
}

// ---- Word problems

TEST_CASE("defect: any text with a full stop or a comma earned a tenth", "[tasks][defects]") {
  for (const char* text : {".", ",", "I do not know.", "Well, maybe.", "41", "43.", "4", "42 or 43", "41, 42", "-42"}) {
    CHECK(word_problem(text) == 0);
  }
}

TEST_CASE("defect: a right number with a full stop or a comma was wrong", "[tasks][defects]") {
  for (const char* text : {"42", "42.", "42.0", "42 apples", "42 apples.", "+42"}) CHECK(word_problem(text) == 1);
  for (const char* text : {"1,234", "1234", "1,234.", "1234.00"}) CHECK(word_problem(text, "1234") == 1);
  CHECK(word_problem("1,23", "123") == 0);
}

TEST_CASE("defect: a data set ended after one epoch", "[tasks][defects]") {
  const auto task = word_problems();
  Generator g(11);
  for (int i = 0; i < 20000; ++i) REQUIRE_FALSE(task->draw(g).question.empty());
}

// ---- The answer in a response

TEST_CASE("defect: white space between tags or text before them changed a verdict", "[tasks][defects]") {
  const auto find = [](const char* format, const std::string& text) {
    return std::string(find_row(answer_formats(), "format", format).find(text).value_or("none"));
  };
  for (const char* text : {"<think>a</think><answer>16</answer>", "<think>a</think> <answer>16</answer>",
                           "<think>a</think>\n<answer>16</answer>", "<think>a</think>  <answer>16</answer>\n",
                           "<answer>16</answer>", "<answer>15</answer> no <answer>16</answer>"}) {
    CHECK(find("tags", text) == "16");
  }
  CHECK(find("boxed", "so \\boxed{15}, no, \\boxed{16}") == "16");
  CHECK(find("bare", " 16\n") == "16");
}

TEST_CASE("defect: an answer without its end was taken", "[tasks][defects]") {
  const auto& tags = find_row(answer_formats(), "format", "tags");
  CHECK_FALSE(tags.find("<answer>16").has_value());
  CHECK_FALSE(tags.find("").has_value());
  CHECK_FALSE(find_row(answer_formats(), "format", "boxed").find("\\boxed{16").has_value());
}

TEST_CASE("defect: the tail of the prompt was scored as response", "[tasks][defects]") {
  // A score depends on the response's tokens alone, whatever prompts of other lengths are beside it.
  const auto task = make_text_task("math");
  Generator g(13);
  for (int i = 0; i < 50; ++i) {
    const Problem p = task->sample(g);
    std::vector<int32_t> with_tail(p.prompt.end() - 1, p.prompt.end());
    with_tail.insert(with_tail.end(), p.answer.begin(), p.answer.end());
    CHECK(task->score(p, p.answer).reward == 1);
    CHECK(task->score(p, with_tail).reward == 0);
    CHECK(task->score(p, std::span<const int32_t>(p.prompt)).reward == 0);
  }
}

// ---- Adventure

TEST_CASE("defect: commands that change nothing were rewarded turn by turn", "[tasks][defects]") {
  const auto task = adventure_task({.rooms = 4, .turns = 10});
  Generator g(15), play(16);
  for (int i = 0; i < 200; ++i) {
    const Problem p = task->sample(g);
    std::vector<int32_t> tokens, seen;
    double best = 0;
    for (int turn = 0; turn < 10; ++turn) {
      tokens.push_back(static_cast<int32_t>(play.integer(6)));  // a command and its end
      tokens.push_back(task->end_id());
      const Score score = task->score(p, tokens);
      CHECK(score.reward == (score.solved ? 1 : 0));
      best = std::max(best, score.reward);
      seen = task->respond(p, tokens);
      if (seen.empty()) break;
      tokens.insert(tokens.end(), seen.begin(), seen.end());
    }
    CHECK(best <= 1);
  }
}

TEST_CASE("defect: a policy of several turns never saw what its commands did", "[tasks][defects]") {
  const auto task = adventure_task();
  Generator g(17);
  for (int i = 0; i < 50; ++i) {
    const Problem p = task->sample(g);
    const std::vector<int32_t> first(p.answer.begin(), std::ranges::find(p.answer, task->end_id()) + 1);
    CHECK_FALSE(task->respond(p, first).empty());
    // What the environment says is part of the episode to imitate, and is not learned.
    REQUIRE(p.action_mask.size() == p.answer.size());
    CHECK(std::ranges::count(p.action_mask, 0) > 0);
    CHECK(p.action_mask[0] == 1);
  }
}

// ---- All of them

TEST_CASE("no wrong answer earns what a right one earns", "[tasks][defects]") {
  std::vector<std::unique_ptr<PuzzleTask>> tasks;
  tasks.push_back(arithmetic_puzzles({.in_words = 0.9}));
  tasks.push_back(countdown_puzzles({.near = 0.99}));
  tasks.push_back(hanoi_puzzles({.shortest = true, .progress = 0.99}));
  tasks.push_back(connections_puzzles({.soft = 1}));
  tasks.push_back(word_problems());
  tasks.push_back(math_puzzles());
  tasks.push_back(sentiment_puzzles());
  Generator g(19);
  for (const auto& task : tasks) {
    const std::string alphabet = task->alphabet();
    for (int i = 0; i < 300; ++i) {
      const Puzzle p = task->draw(g), other = task->draw(g);
      REQUIRE(task->grade(p, p.answer).reward == Approx(1));
      std::vector<std::string> texts = {other.answer, p.question, p.request, "", p.answer + p.answer, other.question};
      for (int k = 0; k < 10; ++k) {  // the right answer with a character changed, left out or added
        std::string text = p.answer;
        const auto at = static_cast<size_t>(g.integer(std::ssize(text)));
        const char c = alphabet[static_cast<size_t>(g.integer(std::ssize(alphabet)))];
        if (k % 3 == 0) text[at] = c;
        if (k % 3 == 1) text.erase(at, 1);
        if (k % 3 == 2) text.insert(at, 1, c);
        texts.push_back(text);
      }
      for (const std::string& text : texts) {
        const Score score = task->grade(p, text);
        INFO(task->name() << ": " << p.question << " " << text);
        REQUIRE(score.reward >= 0);
        REQUIRE((score.solved || score.reward < 1));
        double sum = 0;
        for (const auto& [name, value] : score.parts) sum += value;
        REQUIRE(sum == Approx(score.reward));
      }
    }
  }
}
