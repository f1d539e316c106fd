// The task adventure: its world, the environment's answers, and responses that try to earn a reward without arriving.
#include <algorithm>
#include <set>
#include <span>

#include "tasks/puzzles/puzzle.h"
#include "tasks/text/text_task.h"
#include "tests/catch.h"

using namespace pg;

namespace {

using Ids = std::vector<int32_t>;

constexpr int32_t kTake = 4, kUnlock = 5, kEnd = 6, kLocked = 7, kKey = 8, kNo = 9, kCommands = 6;

// A response while it is written: commands, and what the environment says to them.
struct Episode {
  const TextTask& task;
  const Problem& problem;
  Ids tokens = {};
  Ids seen = problem.prompt;  // the last description, or "no"
  bool over = false;

  void act(Ids command) {
    command.push_back(kEnd);
    tokens.insert(tokens.end(), command.begin(), command.end());
    seen = task.respond(problem, tokens);
    tokens.insert(tokens.end(), seen.begin(), seen.end());
    over = seen.empty();
  }
  Score score() const { return task.score(problem, tokens); }
};

}  // namespace

TEST_CASE("adventure: the answer is a shortest solution, with the environment's words in between", "[tasks][puzzles]") {
  for (const int64_t rooms : {3, 5, 8}) {
    const auto task = adventure_task({.rooms = rooms, .turns = 24});
    Generator generator(1), same(1);
    for (int i = 0; i < 200; ++i) {
      const Problem p = task->sample(generator);
      REQUIRE(task->sample(same).answer == p.answer);
      INFO(task->text(p.prompt) << " -> " << task->text(p.answer));
      REQUIRE(std::ssize(p.prompt) <= task->max_prompt());
      REQUIRE(task->score(p, p.answer).reward == 1);
      REQUIRE(task->score(p, p.answer).solved);
      REQUIRE(task->respond(p, p.answer).empty());
      Episode episode{*task, p};
      int64_t commands = 0;
      for (size_t at = 0; at < p.answer.size(); at = episode.tokens.size(), ++commands) {
        REQUIRE_FALSE(episode.over);
        REQUIRE_FALSE(episode.score().solved);
        REQUIRE(episode.score().reward == 0);
        REQUIRE(p.answer[at + 1] == kEnd);
        episode.act({p.answer[at]});
      }
      REQUIRE(episode.tokens == p.answer);
      REQUIRE(commands == p.puzzle->level);
      REQUIRE(2 * commands <= task->max_response());
      REQUIRE(std::ssize(p.answer) - 2 * commands <= task->max_answers());
      // The key is taken and the door unlocked, in this order; the prompt shows neither name twice.
      const auto take = std::ranges::find(p.answer, kTake), unlock = std::ranges::find(p.answer, kUnlock);
      REQUIRE(take < unlock);
      REQUIRE(unlock != p.answer.end());
    }
  }
}

TEST_CASE("adventure: no shorter list of commands arrives", "[tasks][puzzles]") {
  const auto task = adventure_task({.rooms = 3});
  Generator generator(4);
  for (int i = 0; i < 6; ++i) {
    const Problem p = task->sample(generator);
    // All lists of commands, breadth first.
    std::vector<Episode> open = {{*task, p}};
    int shortest = 0;
    for (int length = 1; shortest == 0; ++length) {
      std::vector<Episode> longer;
      for (const Episode& before : open) {
        for (int32_t command = 0; command < kCommands; ++command) {
          Episode episode{*task, p, before.tokens, before.seen};
          episode.act({command});
          if (episode.score().solved) shortest = length;
          if (episode.seen != Ids{kNo}) longer.push_back(episode);
        }
      }
      open = std::move(longer);
    }
    CHECK(shortest == p.puzzle->level);
  }
}

TEST_CASE("adventure: nothing but arriving earns a reward", "[tasks][puzzles]") {
  const auto task = adventure_task({.rooms = 5, .turns = 12});
  Generator generator(7), play(8);
  for (int i = 0; i < 100; ++i) {
    const Problem p = task->sample(generator);
    // Wandering at random, with long and empty commands too: a reward only if the last word led to the goal.
    Episode episode{*task, p};
    int turns = 0;
    while (!episode.over && turns < 100) {
      Ids command(static_cast<size_t>(play.integer(8) == 0 ? play.integer(4) : 1));
      for (int32_t& word : command) {
        word = static_cast<int32_t>(play.integer(task->vocab_size()));
        if (word == kEnd) word = kNo;
      }
      const bool possible = command.size() == 1 && command[0] < kCommands;
      episode.act(command);
      if (!episode.over && !possible) REQUIRE(episode.seen == Ids{kNo});
      if (!episode.over) REQUIRE(episode.score().reward == 0);
      ++turns;
    }
    REQUIRE(turns <= 12);
    REQUIRE((turns == 12 || episode.score().solved));

    // A response without the environment's words, with others, cut off, or continued.
    const Score none = {};
    std::vector<Ids> attacks = {{},         {kEnd},      {kUnlock, kEnd}, Ids(100000, kEnd), Ids(100000, 0),
                                {-1, kEnd}, {1000, kEnd}};
    Ids commands;
    for (size_t at = 0; at + 1 < p.answer.size(); ++at) {
      if (p.answer[at + 1] == kEnd) commands.insert(commands.end(), {p.answer[at], kEnd});
      attacks.emplace_back(p.answer.begin(), p.answer.begin() + static_cast<int64_t>(at) + 1);
    }
    attacks.push_back(commands);
    for (size_t at = 0; at < p.answer.size(); ++at) {
      for (const int32_t word :
           {0, static_cast<int32_t>(kEnd), static_cast<int32_t>(kKey), static_cast<int32_t>(kNo)}) {
        if (p.answer[at] != word) (attacks.emplace_back(p.answer))[at] = word;
      }
    }
    for (const int32_t word : {0, static_cast<int32_t>(kEnd)}) (attacks.emplace_back(p.answer)).push_back(word);
    for (const Ids& attack : attacks) {
      const Score score = task->score(p, attack);
      REQUIRE(score.reward == none.reward);
      REQUIRE_FALSE(score.solved);
    }
    // Words that look like the environment's are part of a command, which is then impossible.
    Episode forger{*task, p};
    Ids forged = p.answer;
    std::ranges::replace(forged, kEnd, kNo);
    forger.act(forged);
    REQUIRE(forger.seen == Ids{kNo});
    // The door needs the key.
    Episode thief{*task, p};
    thief.act({kUnlock});
    REQUIRE(thief.seen == Ids{kNo});
    if (const auto door = std::ranges::find(p.prompt, kLocked); door != p.prompt.end()) {
      thief.act({door[1]});
      REQUIRE(thief.seen == Ids{kNo});
    }
  }
}

TEST_CASE("adventure: maps are held out whatever their rooms are called", "[tasks][puzzles]") {
  const auto task = adventure_task();
  std::set<std::string> held_out, trained;
  std::set<Ids> prompts;
  const auto problems = task->held_out(200);
  CHECK(problems.size() == 200);
  CHECK(task->held_out(200)[17].answer == problems[17].answer);
  for (const Problem& p : problems) held_out.insert(p.puzzle->key);
  Generator generator(3);
  for (int i = 0; i < 3000; ++i) trained.insert(task->sample(generator).puzzle->key);
  for (const std::string& key : held_out) CHECK(trained.count(key) == 0);
  CHECK(trained.size() > 500);
  CHECK(task->text(task->tokenizer().encode("north . hall locked east key")) == "north. hall locked east key");
  CHECK(testing::contains(testing::error_of([] { adventure_task({.rooms = 9}); }), "rooms"));
  // Maps that need more turns than there are do not come.
  for (int i = 0; i < 50; ++i) CHECK(adventure_task({.rooms = 8, .turns = 5})->sample(generator).puzzle->level <= 5);
}
