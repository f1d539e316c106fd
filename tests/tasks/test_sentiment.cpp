// The task sentiment: its texts, its lexicon, and texts that try to earn a reward without a continuation. The tests
// whose names begin with "defect" are of faults that other implementations of this task have.
#include <algorithm>
#include <fstream>
#include <set>

#include "tasks/puzzles/puzzle.h"
#include "tasks/puzzles/sentiment.h"
#include "tests/catch.h"

using namespace pg;

namespace {

Puzzle puzzle_of(char code, const std::string& beginning = "the soup we had on monday") {
  Puzzle p;
  p.question = std::string(1, code) + " " + beginning;
  p.gold = std::string(1, code);
  p.key = beginning;
  return p;
}
double reward(char code, const std::string& answer) {
  static const auto task = sentiment_puzzles({.fluency = false});
  return task->grade(puzzle_of(code), answer).reward;
}

}  // namespace

TEST_CASE("sentiment: every generated answer has the full reward and its beginning no sentiment", "[tasks][puzzles]") {
  const auto task = sentiment_puzzles();
  Generator g(3);
  std::set<std::string> questions, answers;
  for (int i = 0; i < 3000; ++i) {
    const Puzzle p = task->draw(g);
    INFO(p.question << " " << p.answer);
    REQUIRE(task->grade(p, p.answer).solved);
    REQUIRE(sentiment_of(p.key).strongest == 0);
    for (const char other : {'+', '-', '0'}) {
      if (p.gold[0] != other) REQUIRE(reward(other, p.answer) < 0.01);
    }
    questions.insert(p.key);
    answers.insert(p.answer);
  }
  CHECK(questions.size() > 300);
  CHECK(answers.size() > 300);
}

TEST_CASE("sentiment: words are graded and negation turns them", "[tasks][puzzles]") {
  CHECK(word_sentiment("wonderful") == 3);
  CHECK(word_sentiment("bad") == -2);
  CHECK(word_sentiment("soup") == 0);
  CHECK(word_sentiment("Wonderful") == 0);  // lower case
  const auto value = [](const char* text) { return sentiment_of(text).value; };
  CHECK(value("it was good.") == 2);
  CHECK(value("It was GOOD!") == 2);
  CHECK(value("it was not good.") == -1);
  CHECK(value("it was not very good.") == -1);
  CHECK(value("it wasn't bad.") == 1);
  CHECK(value("it was never a good idea.") == -1);
  CHECK(value("not at all the good one.") == 2);       // more than three words behind
  CHECK(value("it did not rain. it was good.") == 2);  // another clause
  CHECK(value("not big but good.") == 2);
  CHECK(value("a good but late train.") == 0.5);
  CHECK(value("good good good.") == 2);
  CHECK(value("goodness and badly.") == 0);  // whole words only
  CHECK(value("") == 0);
  CHECK(sentiment_of("it's fine, isn't it?").words == 4);
  // No word stands in two rows.
  std::set<std::string_view> all;
  for (const int row : {-3, -2, -1, 1, 2, 3}) {
    for (const std::string_view word : words_of_sentiment(row)) CHECK(all.insert(word).second);
  }
  CHECK(all.size() > 100);
}

TEST_CASE("sentiment: the reward follows the mood that is asked for", "[tasks][puzzles]") {
  CHECK(reward('+', "was wonderful and we stayed.") == 1);
  CHECK(reward('+', "was nice and we stayed.") == 0.5);
  CHECK(reward('+', "was not bad when we came.") == 0.5);
  CHECK(reward('+', "was open when we came.") == 0);
  CHECK(reward('+', "was awful and we left.") == 0);
  CHECK(reward('-', "was awful and we left.") == 1);
  CHECK(reward('-', "was not good when we came.") == 0.5);
  CHECK(reward('-', "was wonderful and we stayed.") == 0);
  CHECK(reward('0', "was open when we came.") == 1);
  CHECK(reward('0', "was nice when we came.") == 0.5);
  CHECK(reward('0', "was awful when we came.") == 0);
  CHECK(reward('0', "was wonderful there, and then it was awful.") == 0);  // two strong words are not neutral
}

TEST_CASE("sentiment: no attack earns more than an honest continuation", "[tasks][puzzles]") {
  const std::string honest = "was wonderful and we stayed.";
  const double most = reward('+', honest);
  std::vector<std::string> attacks = {"wonderful great superb perfect.",
                                      "wonderful wonderful wonderful wonderful.",
                                      "good.",
                                      "was good.",
                                      "was good was good was good was good.",
                                      "and good and great and superb and perfect and excellent.",
                                      "the the the good the the the.",
                                      "was good",
                                      "good and good and good and good.",
                                      "a good b great c superb d perfect.",
                                      "goodgoodgood the a it we.",
                                      "",
                                      ".",
                                      "....",
                                      "+ + + + good.",
                                      "positive positive"};
  std::string endless;
  for (int i = 0; i < 1000; ++i) endless += "it was wonderful and we stayed ";
  attacks.push_back(endless + ".");
  attacks.push_back(std::string(10'000'000, 'a') + " good.");
  for (const std::string& attack : attacks) {
    INFO(attack.substr(0, 60));
    CHECK(reward('+', attack) == 0);
  }
  // More words of sentiment do not pay more.
  CHECK(reward('+', "was wonderful and great so we told all of our friends about it.") == most);
  // For no text is the reward above 1 or below 0.
  Generator g(9);
  const std::vector<std::string> words = {"good", "bad",   "not", "was", "the", "great",
                                          "and",  "awful", "it",  ".",   ",",   "nice"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int64_t k = 3 + g.integer(8); k > 0; --k)
      text += words[static_cast<size_t>(g.integer(std::ssize(words)))] + " ";
    text += ".";
    double sum = 0;
    for (const char code : {'+', '-', '0'}) {
      const double r = reward(code, text);
      REQUIRE(r >= 0);
      REQUIRE(r <= 1);
      sum += r;
    }
    REQUIRE(reward('+', text) * reward('-', text) == 0);  // never both
    REQUIRE(sum <= 1.5);
  }
}

TEST_CASE("sentiment: invented words and shuffled ones earn less than a sentence", "[tasks][puzzles]") {
  const auto task = sentiment_puzzles();
  const auto fluent = [&](const std::string& text) { return task->grade(puzzle_of('+'), text).reward; };
  CHECK(fluent("was fun when we came back.") == 1);
  CHECK(fluent("was nice when we came back.") == 0.5);
  CHECK(fluent("was not bad when we came back.") == 0.5);
  CHECK(fluent("Was fun, when we came back.") == 1);
  // What a policy of characters wrote after 120 steps when invented words were not counted.
  for (const char* text :
       {"was fun an whe.", "was fun as ro whe.", "wwas fun aso j.", "was fun venl we.", "when we came back was fun.",
        "fun was back we came when.", "was fun when we.", "was fun and fun and we."}) {
    INFO(text);
    CHECK(fluent(text) < 0.85);
  }
  CHECK(review_fluency("was fun when we.") == Approx(4.0 / 5));  // of five pairs the last: "we" ends no review
  CHECK(review_fluency("") == 0);
  CHECK(review_fluency(std::string(20000, 'a')) == 0);
}

TEST_CASE("sentiment: a file gives the beginnings of its sentences", "[tasks][puzzles]") {
  CHECK(sentence_beginnings("One two three four five six seven eight. Too short. A<br />b c d e f g h!") ==
        std::vector<std::string>{"one two three four", "a b c d"});
  CHECK(sentence_beginnings("").empty());
  CHECK(sentence_beginnings("a b c d e f g h. A B C D E F G I?").size() == 1);  // each once
  CHECK(sentence_beginnings("don't \"stop\" now, 12 of us are here today") ==
        std::vector<std::string>{"don't stop now 12"});
  const testing::TempDir dir;
  const std::string path = dir.file("reviews.txt");
  std::ofstream file(path);
  for (int i = 0; i < 50; ++i) file << "Number " << i << " is a terrible film that nobody wants to see.\n";
  file.close();
  const auto task = sentiment_puzzles({.file = path});
  Generator g(1);
  for (int i = 0; i < 100; ++i) {
    const Puzzle p = task->draw(g);
    REQUIRE(p.question.substr(2).starts_with("number "));
    REQUIRE(std::ssize(p.question) <= task->max_question());
    REQUIRE(task->grade(p, p.answer).solved);
  }
  std::ofstream(path) << "Short.";
  CHECK(
      testing::contains(testing::error_of([&] { sentiment_puzzles({.file = path}); }), "no sentence has eight words"));
  CHECK(testing::error_of([&] { sentiment_puzzles({.file = dir.file("none")}); }) != "");
}

// ---- Faults of other implementations of sentiment-controlled continuation.

TEST_CASE("defect: the fragment was judged with the generation", "[tasks][puzzles][defects]") {
  // A beginning with sentiment then decides the reward of any continuation.
  const auto task = sentiment_puzzles({.fluency = false});
  for (const char* beginning : {"the soup we had on monday", "a terrible awful film", "a wonderful great film"}) {
    CHECK(task->grade(puzzle_of('+', beginning), "was wonderful and we stayed.").reward == 1);
    CHECK(task->grade(puzzle_of('+', beginning), "was open when we came.").reward == 0);
    CHECK(task->grade(puzzle_of('-', beginning), "was wonderful and we stayed.").reward == 0);
  }
}

TEST_CASE("defect: collapse to one repeated token was paid", "[tasks][puzzles][defects]") {
  for (const std::string word : {"good", "great", "wonderful", "was", "+"}) {
    std::string text;
    for (int i = 0; i < 10; ++i) text += word + " ";
    for (const char code : {'+', '-', '0'}) {
      CHECK(reward(code, text) == 0);
      CHECK(reward(code, text + ".") == 0);
    }
  }
}

TEST_CASE("defect: the target sentiment changed with each access", "[tasks][puzzles][defects]") {
  const auto task = make_text_task("sentiment");
  const std::vector<Problem> first = task->held_out(30), again = task->held_out(30);
  REQUIRE(first.size() == 30);
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].prompt == again[i].prompt);
    CHECK(first[i].answer == again[i].answer);
    CHECK(task->text(first[i].prompt)[0] == first[i].puzzle->gold[0]);  // the prompt states the target
  }
}

TEST_CASE("defect: a generation had ten tokens and no end", "[tasks][puzzles][defects]") {
  const auto task = make_text_task("sentiment");
  Generator g(4);
  const Problem p = task->sample(g);
  REQUIRE(p.answer.back() == task->end_id());
  CHECK(task->score(p, p.answer).solved);
  const std::vector<int32_t> unfinished(p.answer.begin(), p.answer.end() - 1);
  CHECK(task->score(p, unfinished).reward == 0);
  CHECK(std::ssize(p.answer) <= task->max_response());
}

TEST_CASE("defect: the reward was one of two labels", "[tasks][puzzles][defects]") {
  std::set<double> rewards;
  for (const char* text :
       {"was awful and we left.", "was small and we left.", "was open and we left.", "was nice and we left.",
        "was not bad when we left.", "was good and we left.", "was clean, good, and had nice tables for us all."}) {
    rewards.insert(reward('+', text));
  }
  CHECK(rewards.size() >= 4);
}

TEST_CASE("defect: no problem was held out", "[tasks][puzzles][defects]") {
  const auto task = sentiment_puzzles();
  std::set<std::string> held;
  for (const Puzzle& p : held_out_puzzles(*task, 500)) held.insert(p.key);
  CHECK(held.size() > 20);
  Generator g(8);
  for (int i = 0; i < 5000; ++i) REQUIRE_FALSE(held.contains(draw_puzzle(*task, g, false).key));
}
