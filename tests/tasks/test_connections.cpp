// The task connections: its word lists, its reward, its split, and files of puzzles.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tasks/puzzles/connections.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

const char* const kGold = "a1,a2,a3,a4;b1,b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4";

Puzzle puzzle() {
  Puzzle p;
  p.question = "d1,a1,a2,b1,b2,c1,c2,d2,a3,a4,b3,b4,c3,c4,d3,d4";
  p.answer = p.gold = kGold;
  return p;
}

std::vector<std::string> words_of(std::string text) {
  std::ranges::replace(text, ',', ' ');
  std::ranges::replace(text, ';', ' ');
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

TEST_CASE("connections: the categories have six words each and share none", "[tasks][puzzles]") {
  std::set<std::string> words, names;
  for (const WordCategory& category : word_categories()) {
    INFO(category.name);
    CHECK(names.insert(std::string(category.name)).second);
    const auto list = words_of(std::string(category.words));
    CHECK(list.size() >= 6);
    for (const std::string& word : list) {
      INFO(word);
      CHECK(words.insert(word).second);
      CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos);
    }
  }
  CHECK(names.size() >= 40);
}

TEST_CASE("connections: the reward counts right groups of four and nothing reaches 1 but the answer",
          "[tasks][puzzles]") {
  const auto task = connections_puzzles();
  struct Case {
    std::string answer;
    double hard, soft;  // reward with soft 0 and 1
  };
  const std::vector<Case> cases = {
      {kGold, 1, 1},
      {"D4,d3,D1,d2;c1,c2,c3,c4\nA1, a2 ,a3,a4;\n\n b1,b2,b3,b4;", 1, 1},
      {"a1,a2,a3,a4", 0.25, 0.25},  // one group and nothing else
      {"a1,a2,a3,a4;b1,b2,b3,b4", 0.5, 0.5},
      {"a1,a2,a3,a4;b1,b2,b3,b4;c1,c2,c3,c4", 0.75, 0.75},
      {"a1,a2,a3,a4;b1,b2,b3,b4;c1,c2,c3,d4;d1,d2,d3,c4", 0.5, 0.5 + 0.5 * 2 / 3},
      {"a1,a2,a3,b4;b1,b2,b3,c4;c1,c2,c3,d4;d1,d2,d3,a4", 0, 2.0 / 3},
      {"a1,a2,b1,b2;a3,a4,b3,b4;c1,c2,d1,d2;c3,c4,d3,d4", 0, 1.0 / 3},
      {"a1,b1,c1,d1;a2,b2,c2,d2;a3,b3,c3,d3;a4,b4,c4,d4", 0, 0},
      {"a1,a2,a3,a4;a1,a2,a3,a4;a1,a2,a3,a4;a1,a2,a3,a4", 0, 0},      // repeated
      {std::string(kGold) + ";a1,a2,a3,a4", 0, 0},                    // five groups
      {std::string(kGold) + ";e1,e2,e3", 0, 0},                       // the fifth is short
      {std::string(kGold) + ";x", 0, 0},                              // or one word
      {"a1,a1,b1,b1;b2,b3,b4,a2;c1,c2,c3,c4;d1,d2,d3,d4", 0, 0},      // words twice
      {"a1,a2,a3,a4,A1;b1,b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4", 0, 0},   // in another case
      {"a1,a2,a3;b1,b2,b3;c1,c2,c3;d1,d2,d3", 0, 0},                  // groups of three
      {"a1,a2,a3,a4,b1;b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4", 0.5, 0.5},  // of five and three
      {"a1,a2,a3,a4,b1,b2,b3,b4,c1,c2,c3,c4,d1,d2,d3,d4", 0, 0},      // one of sixteen
      {puzzle().question, 0, 0},
      {"a1,a2,a3,a4,;b1,b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4", 0.75, 0.75},  // an empty word
      {"a1 a2 a3 a4;b1 b2 b3 b4;c1 c2 c3 c4;d1 d2 d3 d4", 0, 0},         // no commas
      {"x,y,z,w;1,2,3,4;,,,;e,f,g,h", 0, 0},
      {"a1,a2,a3,x;b1,b2,b3,y;c1,c2,c3,z;d1,d2,d3,w", 0, 2.0 / 3},
      {"the groups are a1,a2,a3,a4;b1,b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4", 0.75, 0.75 + 0.25 * 2 / 3},
      {"a1,a2,a3,a4;b1,b2,b3,b4;c1,c2,c3,c4;d1,d2,d3,d4.", 0.75, 0.75 + 0.25 * 2 / 3},
      {"", 0, 0},
      {";;;;", 0, 0},
      {",,,", 0, 0},
      {std::string(10'000'000, ','), 0, 0},
      {std::string(10'000'000, ';'), 0, 0},
      {std::string(10'000'000, '\n'), 0, 0},
  };
  for (const Case& c : cases) {
    INFO(c.answer.substr(0, 100));
    CHECK(task->grade(puzzle(), c.answer).reward == Approx(c.hard));
    CHECK(task->grade(puzzle(), c.answer).solved == (c.hard == 1));
    for (const double soft : {0.25, 0.7, 1.0}) {
      const Score score = connections_puzzles({.soft = soft})->grade(puzzle(), c.answer);
      CHECK(score.reward == Approx((1 - soft) * c.hard + soft * c.soft));
      CHECK((score.reward == 1) == (c.hard == 1));
    }
  }
}

TEST_CASE("connections: any other division of the words earns less than 1", "[tasks][puzzles]") {
  std::vector<std::string> words = words_of(kGold);
  Generator generator(2);
  for (int i = 0; i < 2000; ++i) {
    shuffle(words, generator);
    std::string text;
    const auto size = static_cast<size_t>(3 + generator.integer(3));
    for (size_t w = 0; w < words.size(); ++w) text += words[w] + (w % size == size - 1 ? ";" : ",");
    const Score score = connections_puzzles({.soft = 1})->grade(puzzle(), text);
    REQUIRE(score.reward < 1);
    REQUIRE_FALSE(score.solved);
  }
}

TEST_CASE("connections: words are shuffled and no category is in both parts", "[tasks][puzzles]") {
  std::map<std::string, std::string> category;  // of a word
  for (const WordCategory& c : word_categories()) {
    for (const std::string& word : words_of(std::string(c.words))) category[word] = c.name;
  }
  const auto task = connections_puzzles();
  Generator generator(6);
  std::set<std::string> held_out, trained;
  int64_t neighbours = 0, questions = 0;
  for (int i = 0; i < 4000; ++i) {
    const Puzzle p = task->draw(generator);
    const auto words = words_of(p.question);
    REQUIRE(std::set<std::string>(words.begin(), words.end()).size() == 16);
    std::map<std::string, int> sizes;
    for (size_t w = 0; w < words.size(); ++w) {
      ++sizes[category.at(words[w])];
      (is_held_out(p) ? held_out : trained).insert(category.at(words[w]));
      neighbours += w > 0 && category.at(words[w]) == category.at(words[w - 1]);
    }
    for (const auto& [name, count] : sizes) REQUIRE(count == 4);
    ++questions;
  }
  for (const std::string& name : held_out) CHECK(trained.count(name) == 0);
  CHECK(held_out.size() + trained.size() == word_categories().size());
  // In random order a word's neighbour is one of 3 of the 15 others: 15 pairs * 3/15 = 3 on average; in the order of
  // the solution there would be 12.
  CHECK(static_cast<double>(neighbours) / static_cast<double>(questions) == Approx(3).margin(0.2));
}

TEST_CASE("connections: a file of puzzles, split so that no group is in both parts", "[tasks][puzzles]") {
  const testing::TempDir folder;
  const std::string path = folder.file("puzzles.jsonl");
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  // Each puzzle has three groups of its own and one that it shares with its partner, in another order.
  std::string text = "\n";
  for (int i = 0; i < 200; ++i) {
    text += "{\"groups\": [";
    for (int g = 0; g < 3; ++g) {
      text += "[";
      for (int w = 0; w < 4; ++w) text += fmt::format("\"w{}-{}-{}\"{}", i, g, w, w < 3 ? "," : "],");
    }
    const char* shared = i % 2 == 0
                             ? "{{\"words\": [\"S {0}\", \"t{0}\", \"u{0}\", \"v{0}\"], \"reason\": \"letters\"}}]}}\n"
                             : "[\"v{0}\", \"u{0}\", \" s {0} \", \"T{0}\"]]}}\n";
    text += fmt::format(fmt::runtime(shared), i / 2);
  }
  write(text);
  const auto task = connections_puzzles({.file = path});
  Generator generator(8);
  std::map<std::string, bool> side;  // of a word
  std::set<std::string> keys;
  bool both[2] = {};
  for (int i = 0; i < 4000; ++i) {
    const Puzzle p = task->draw(generator);
    REQUIRE(task->grade(p, p.answer).solved);
    REQUIRE(p.question.find_first_not_of(task->alphabet()) == std::string::npos);
    REQUIRE(std::ssize(p.question) <= task->max_question());
    for (const std::string& word : words_of(p.answer)) {
      if (word != "s") REQUIRE(side.emplace(word, is_held_out(p)).first->second == is_held_out(p));
    }
    both[is_held_out(p)] = true;
    keys.insert(p.key);
  }
  CHECK((both[0] && both[1]));
  CHECK(keys.size() == 100);

  const std::string good = R"({"groups": [["a","b","c","d"],["e","f","g","h"],["i","j","k","l"],["m","n","o","p"]]})";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    return line.replace(line.find(from), from.size(), to);
  };
  write(good + "\n");
  CHECK(read_word_puzzles(path).size() == 1);
  const std::pair<std::string, const char*> bad[] = {
      {"{", "expected a JSON object"},
      {"[]", "expected a JSON object"},
      {"{}", "\"groups\""},
      {with("[\"a\"", "[\"e\""), "'e' is there twice"},
      {with("[\"a\"", "[\"E\""), "'e' is there twice"},
      {with("[\"a\",", "["), "a group must be a list of 4 words"},
      {with("\"a\"", "7"), "a word must be a string"},
      {with("\"a\"", "\"\""), "a word must have 1 to 40"},
      {with("\"a\"", "\"x,y\""), "a word must have 1 to 40"},
      {with("\"a\"", "\"café\""), "a word must have 1 to 40"},
      {with("\"a\"", "\"x\\ny\""), "a word must have 1 to 40"},
      {with(",[\"m\",\"n\",\"o\",\"p\"]", ""), "list of 4 groups"},
      {std::string(1000, '[') + std::string(1000, ']'), "nests"},
  };
  for (const auto& [line, message] : bad) {
    write(good + "\n\n" + line + "\n");
    const std::string error = error_of([&] { connections_puzzles({.file = path}); });
    INFO(line.substr(0, 100) << " -> " << error);
    CHECK(contains(error, path + ":3: "));
    CHECK(contains(error, message));
  }
  write("\n \n");
  CHECK(contains(error_of([&] { connections_puzzles({.file = path}); }), "no problems"));
  CHECK(contains(error_of([&] { connections_puzzles({.file = folder.file("none")}); }), "none"));
}
