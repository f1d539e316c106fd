// Word problems: the stories are read and computed again here, and answers that are not the number alone are refused.
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tasks/puzzles/puzzle.h"
#include "tasks/puzzles/word_problems.h"
#include "tests/catch.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

std::vector<int64_t> numbers_of(const std::string& text) {
  static const std::regex number("[0-9]+");
  std::vector<int64_t> numbers;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    numbers.push_back(std::stoll(it->str()));
  }
  return numbers;
}

// The answer by the words of the story, and -1 if a division leaves a rest.
int64_t answer_of(const WordProblem& p) {
  const std::vector<int64_t> n = numbers_of(p.text);
  const auto asks = [&](const char* what) { return contains(p.text, what); };
  if (p.kind == "collection") {
    static const std::regex step("buys ([0-9]+) more|gives ([0-9]+) of|into ([0-9]+) equal|as many again");
    int64_t count = n.at(0), steps = 0;
    for (std::sregex_iterator it(p.text.begin(), p.text.end(), step), end; it != end; ++it, ++steps) {
      const std::smatch& m = *it;
      if (m[1].matched)
        count += std::stoll(m[1]);
      else if (m[2].matched)
        count -= std::stoll(m[2]);
      else if (m[3].matched && count % std::stoll(m[3]) != 0)
        return -1;
      else if (m[3].matched)
        count /= std::stoll(m[3]);
      else
        count *= 2;
      if (count < 1) return -1;
    }
    return steps == p.steps ? count : -1;
  }
  if (p.kind == "boxes") {
    const int64_t left = n.at(0) * n.at(1) - n.at(2);
    if (asks("are left?")) return p.steps == 2 && left > 0 ? left : -1;
    if (left % n.at(3) != 0) return -1;
    if (asks("each child get?")) return p.steps == 3 ? left / n.at(3) : -1;
    return p.steps == 4 ? left / n.at(3) - n.at(4) : -1;
  }
  if (p.kind == "shop") {
    if (p.steps == 2) return n.at(2) - n.at(0) * n.at(1);
    const int64_t sum = n.at(0) * n.at(2) + n.at(1) * n.at(3);
    return asks("pay?") ? (p.steps == 3 ? sum : -1) : (p.steps == 4 ? n.at(4) - sum : -1);
  }
  if (p.kind == "comparison") {
    const int64_t second = n.at(0) + n.at(1), third = n.at(2) * second;
    if (asks("together")) return p.steps == 4 ? n.at(0) + second + third : -1;
    if (asks("How many more")) return p.steps == 3 ? third - n.at(0) : -1;
    return p.steps == 2 ? third : -1;
  }
  if (p.kind == "reading") {
    const int64_t left = n.at(0) - n.at(1) * n.at(2);
    if (asks("still have to read")) return p.steps == 2 ? left : -1;
    if (left % n.at(3) != 0) return -1;
    return asks("whole book") ? (p.steps == 4 ? n.at(2) + left / n.at(3) : -1) : (p.steps == 3 ? left / n.at(3) : -1);
  }
  if (p.kind == "saving") {
    int64_t sum = n.at(0) * n.at(1) * n.at(2);
    if (asks("dollars does") && !asks("bicycle")) return p.steps == 2 ? sum : -1;
    if (asks("aunt")) sum += n.at(3);
    return p.steps == (asks("aunt") ? 4 : 3) ? n.back() - sum : -1;
  }
  return -1;
}

}  // namespace

TEST_CASE("word problems: every story has the answer that its words say", "[tasks][puzzles]") {
  Generator generator(2);
  for (int steps = 2; steps <= 4; ++steps) {
    std::map<std::string, int> kinds;
    for (int i = 0; i < testing::rounds(6000); ++i) {
      const WordProblem p = make_word_problem(generator, steps);
      INFO(p.kind << ": " << p.text << " " << p.number);
      REQUIRE(p.steps == steps);
      REQUIRE(std::to_string(answer_of(p)) == p.number);
      REQUIRE(answer_of(p) > 0);
      REQUIRE(answer_of(p) < 100000);
      for (const int64_t n : numbers_of(p.text)) REQUIRE(n > 0);
      REQUIRE_FALSE(contains(p.text, " 1 "));  // "1 apples"
      ++kinds[p.kind];
    }
    CHECK(kinds.size() == 6);
  }
  CHECK_FALSE(error_of([&] { make_word_problem(generator, 5); }).empty());
  // Each number of steps is as likely as another, and no more than the option says.
  for (const int64_t most : {2, 3, 4}) {
    const auto task = word_problems({.problem_steps = most});
    std::set<int> levels;
    for (int i = 0; i < 200; ++i) levels.insert(task->draw(generator).level);
    CHECK(std::ssize(levels) == most - 1);
    CHECK(*levels.rbegin() == most - 1);
  }
}

TEST_CASE("word problems: other names and things are the same problem for the split", "[tasks][puzzles]") {
  Generator generator(5);
  std::map<std::string, std::string> seen;  // a problem without its names and things to its key
  static const std::regex name(
      "\\b(Anna|Ben|Clara|David|Emma|Finn|Grace|Henry|Iris|Jack|Kate|Liam|Mia|Noah|Olive|Paul)\\b"),
      thing(
          "\\b(apples|marbles|stickers|shells|stamps|buttons|nuts|cards|ribbons|beads|stones|pencils|(pen|ruler|cup|"
          "book|"
          "lamp|ball)s?)\\b");
  size_t same = 0;
  for (int i = 0; i < testing::rounds(30000); ++i) {
    const WordProblem p = make_word_problem(generator, 2);
    const std::string bare = std::regex_replace(std::regex_replace(p.text, name, "N"), thing, "T");
    const auto [at, is_new] = seen.emplace(bare, p.key);
    REQUIRE(at->second == p.key);
    same += !is_new;
  }
  CHECK(same > testing::rounds(100));
}

TEST_CASE("word problems: plain numbers", "[tasks][puzzles]") {
  const std::pair<const char*, const char*> good[] = {
      {"42", "42"},        {"042", "42"},        {"+42", "42"},     {"-42", "-42"},
      {"42.0", "42"},      {"42.50", "42.5"},    {"1,234", "1234"}, {"12,345,678.90", "12345678.9"},
      {"-1,000", "-1000"}, {"0", "0"},           {"-0.00", "0"},    {"0.05", "0.05"},
      {"000", "0"},        {"123,456", "123456"}};
  for (const auto& [text, number] : good) {
    INFO(text);
    CHECK(plain_number(text) == number);
  }
  for (const char* bad : {"",     "-",        "+",      ".",      ".5",    "5.",      "1,23", "12,34", "1,2345",
                          ",123", "1234,567", "1,,234", "1,234,", "1.2.3", "1.234,5", "4 2",  " 42",   "42 ",
                          "--42", "+-42",     "1e3",    "0x10",   "$42",   "42%",     "½",    "٤٢",    "1,234.5,6"}) {
    INFO(bad);
    CHECK_FALSE(plain_number(bad));
  }
}

TEST_CASE("word problems: an answer is the number alone", "[tasks][puzzles]") {
  WordProblem apples, money;
  apples.text = "Anna has 2 dozen apples. Anna buys 1210 more. How many more apples does Anna have than Ben?";
  apples.number = "1234";
  money.text = "A pen costs $3. Tom buys 4 pens. How many dollars does Tom pay?";
  money.number = "12";
  for (const char* right :
       {"1234", "1,234", "1234.", "1234.0", "+1234", "1234 apples", "1,234 more apples", "1234 Apples.", "01234"}) {
    INFO(right);
    CHECK(is_answer(apples, right));
  }
  for (const char* right : {"12", "$12", "$12.00", "12 dollars", "12 dollars.", "$12."}) {
    INFO(right);
    CHECK(is_answer(money, right));
  }
  std::vector<std::string> wrong = {"",
                                    " ",
                                    ".",
                                    ",",
                                    "1234..",
                                    "1234 dozen",
                                    "1234 hundred",
                                    "1234 pears",
                                    "1234 or 5",
                                    "5 or 1234",
                                    "1234 1234",
                                    "1234 apples 7",
                                    "$1234",
                                    "1234 dollars",
                                    "1234 Anna",
                                    "1234 does",
                                    "1234 than",
                                    "1234 not",
                                    "not 1234",
                                    "-1234",
                                    "1234-",
                                    "12,34",
                                    "1 234",
                                    "1234apples",
                                    "1234  apples",
                                    "1234 ",
                                    " 1234",
                                    "apples",
                                    "1235",
                                    "1234.5",
                                    "1233.9999999",
                                    "1234 apples, Anna",
                                    "1234, 1235",
                                    "1234/1",
                                    "1233+1",
                                    "=1234",
                                    "x=1234",
                                    "#### 1234",
                                    "The answer is 1234",
                                    "1234 apples.1",
                                    "1234%",
                                    "one thousand",
                                    "1234 apples apples apples apples apples",
                                    "1234\n",
                                    "1234\n1235",
                                    "I have 1,234 apples.",
                                    "1234 million"};
  wrong.push_back("1234" + std::string(1, '\0'));
  wrong.push_back(std::string(99, '0') + "1234");
  wrong.push_back("1234" + std::string(1000000, ' '));
  for (const std::string& text : wrong) {
    INFO(text.substr(0, 60));
    CHECK_FALSE(is_answer(apples, text));
  }
  for (const char* text :
       {"$", "$$12", "12$", "$-12", "-$12", "12 cents", "12 pens", "12 euros", "1200 cents", "$12,", "$1,2"}) {
    INFO(text);
    CHECK_FALSE(is_answer(money, text));
  }
  // With cents in the problem a number of dollars would be ambiguous.
  money.text += " A cent is a hundredth.";
  CHECK_FALSE(is_answer(money, "$12"));
  CHECK(is_answer(money, "12"));
}

TEST_CASE("word problems: files like GSM8K's", "[tasks][puzzles]") {
  const testing::TempDir folder;
  const std::string path = folder.file("test.jsonl");
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += fmt::format(R"({{"question": "Ann’s {0} pens cost 5 = five \u2014 each…\nHow many?", )"
                        R"("answer": "{0}*5=<<{0}*5={1}>>{1}\n<<1+1=2>>\n#### {1}"}})"
                        "\n\n",
                        i, i == 7 ? "1,035" : std::to_string(5 * i));
  }
  write(text);
  const auto task = word_problems({.file = path});
  Generator generator(3);
  std::map<std::string, std::string> numbers;
  for (int i = 0; i < 3000; ++i) {
    const Puzzle p = task->draw(generator);
    REQUIRE(p.question.find_first_not_of(task->alphabet()) == std::string::npos);
    REQUIRE(p.answer.find_first_not_of(task->alphabet()) == std::string::npos);
    REQUIRE(std::ssize(p.question) <= task->max_question());
    REQUIRE(std::ssize(p.request) <= task->max_request());
    REQUIRE(task->grade(p, p.answer).reward == 1);
    REQUIRE(p.level == 2);
    numbers[p.request] = p.answer;
    if (p.answer == "15") CHECK(p.question == "Ann's 3 pens cost 5 ~ five - each~ How many?");
  }
  CHECK(numbers.size() == 100);
  CHECK(numbers.at("Ann’s 7 pens cost 5 = five — each…\nHow many?") == "1035");

  const std::string good = R"({"question": "q?", "answer": "#### 4"})";
  const std::pair<const char*, const char*> bad[] = {
      {"nonsense", "expected a JSON object"},
      {"{}", "expected the question at one of the keys problem, question,"},
      {R"({"question": "q?"})", "expected the answer at one of the keys answer,"},
      {R"({"question": "q?", "answer": null})", "expected the answer at one of the keys answer,"},
      {R"({"question": " ", "answer": "#### 4"})", "the question is empty"},
      {R"({"question": "q?", "answer": "#### "})", "the answer is empty"},
      {R"({"question": "q?", "answer": "four"})", "must be a number, or end with ####"},
      {R"({"question": "q?", "answer": "#### four"})", "must be a number, or end with ####"},
      {R"({"question": "q?", "answer": "#### 4 or 5"})", "must be a number, or end with ####"}};
  for (const auto& [line, message] : bad) {
    write(good + "\n" + line + "\n");
    const std::string error = error_of([&] { word_problems({.file = path}); });
    INFO(line << " -> " << error);
    CHECK(contains(error, path + ":2: "));
    CHECK(contains(error, message));
  }
  write("");
  CHECK(contains(error_of([&] { word_problems({.file = path}); }), "no problems"));
}
