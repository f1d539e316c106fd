// A text adventure: a map of rooms, a key, and a locked door before the goal.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "tasks/puzzles/puzzle.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// Tokens: commands, what the environment says besides, and the names of rooms.
enum Word : int32_t { kNorth, kEast, kSouth, kWest, kTake, kUnlock, kEnd, kLocked, kKey, kNo, kFirstRoom };
constexpr const char* kWords[] = {"north", "east", "south",   "west",  "take",   "unlock", ".",     "locked", "key",
                                  "no",    "hall", "kitchen", "attic", "cellar", "garden", "study", "tower",  "stable"};
constexpr int kCommands = 6, kDirections = 4, kMostRooms = 8;
constexpr int64_t kLongestAnswer = 1 + kDirections + 2;  // a room, its exits, a locked one among them, the key

const TokenList& adventure_tokenizer() {
  static const TokenList tokens({std::begin(kWords), std::end(kWords)}, /*words=*/true, kEnd);
  return tokens;
}

using Ids = std::vector<int32_t>;

// Rooms 0 to n - 1. The game begins in room 0 and ends in the last one, whose only door is locked.
struct World {
  std::vector<int32_t> names;                      // tokens
  std::vector<std::array<int, kDirections>> next;  // the room in each direction, or -1
  int key = 0;                                     // the room where it lies

  int goal() const { return static_cast<int>(next.size()) - 1; }
  bool is_locked_door(int room, int direction) const {
    const int other = next[static_cast<size_t>(room)][static_cast<size_t>(direction)];
    return other >= 0 && (other == goal() || room == goal());
  }
};

struct State {
  int room = 0;
  bool has_key = false, open = false;
  auto operator<=>(const State&) const = default;
};

// The state after a command; nothing if it is impossible.
std::optional<State> after(const World& world, State state, int32_t command) {
  if (command < 0 || command >= kCommands) return {};
  if (command == kTake) {
    if (state.has_key || state.room != world.key) return {};
    state.has_key = true;
    return state;
  }
  if (command == kUnlock) {
    bool at_door = false;
    for (int d = 0; d < kDirections; ++d) at_door = at_door || world.is_locked_door(state.room, d);
    if (!state.has_key || state.open || !at_door) return {};
    state.open = true;
    return state;
  }
  const int other = world.next[static_cast<size_t>(state.room)][static_cast<size_t>(command)];
  if (other < 0 || (world.is_locked_door(state.room, command) && !state.open)) return {};
  state.room = other;
  return state;
}

// What the policy reads in a room: its name, its exits, and the key.
Ids description(const World& world, const State& state) {
  Ids ids = {world.names[static_cast<size_t>(state.room)]};
  for (int d = 0; d < kDirections; ++d) {
    if (world.next[static_cast<size_t>(state.room)][static_cast<size_t>(d)] < 0) continue;
    if (world.is_locked_door(state.room, d) && !state.open) ids.push_back(kLocked);
    ids.push_back(d);
  }
  if (state.room == world.key && !state.has_key) ids.push_back(kKey);
  return ids;
}

// A shortest list of commands to the goal.
Ids solution(const World& world) {
  std::map<State, Ids> seen = {{State{}, {}}};
  std::queue<State> open;
  for (open.push({}); !open.empty(); open.pop()) {
    const State state = open.front();
    if (state.room == world.goal()) return seen.at(state);
    for (int32_t command = 0; command < kCommands; ++command) {
      const auto next = after(world, state, command);
      if (!next || seen.contains(*next)) continue;
      Ids commands = seen.at(state);
      commands.push_back(command);
      seen.emplace(*next, commands);
      open.push(*next);
    }
  }
  fail("adventure: the goal cannot be reached");
}

World random_world(Generator& generator, int64_t rooms) {
  constexpr int kStepX[] = {0, 1, 0, -1}, kStepY[] = {1, 0, -1, 0};
  World world;
  std::vector<int32_t> names(kMostRooms);
  for (int32_t i = 0; i < kMostRooms; ++i) names[static_cast<size_t>(i)] = kFirstRoom + i;
  shuffle(names, generator);
  world.names.assign(names.begin(), names.begin() + rooms);
  const auto n = static_cast<size_t>(rooms);
  world.next.assign(n, {-1, -1, -1, -1});
  std::vector<std::pair<int, int>> place = {{0, 0}};
  while (place.size() < n) {  // each room is beside an earlier one; no two are in the same place
    const auto from = static_cast<size_t>(generator.integer(std::ssize(place)));
    const auto d = static_cast<size_t>(generator.integer(kDirections));
    const std::pair<int, int> to = {place[from].first + kStepX[d], place[from].second + kStepY[d]};
    if (std::ranges::find(place, to) != place.end()) continue;
    world.next[from][d] = static_cast<int>(place.size());
    world.next[place.size()][(d + 2) % kDirections] = static_cast<int>(from);
    place.push_back(to);
  }
  world.key = static_cast<int>(generator.integer(rooms - 1));
  return world;
}

// The world as text, and back: names, doors and the key, a character each.
std::string text_of(const World& world, bool with_names) {
  std::string text;
  for (size_t r = 0; r < world.next.size(); ++r) {
    if (with_names) text += static_cast<char>('A' + world.names[r]);
    for (const int other : world.next[r]) text += static_cast<char>(other < 0 ? '-' : '0' + other);
  }
  return text + static_cast<char>('0' + world.key);
}
World world_of(std::string_view text) {
  World world;
  for (size_t at = 0; at + 1 < text.size(); at += 1 + kDirections) {
    world.names.push_back(text[at] - 'A');
    auto& next = world.next.emplace_back();
    for (size_t d = 0; d < next.size(); ++d) next[d] = text[at + 1 + d] == '-' ? -1 : text[at + 1 + d] - '0';
  }
  world.key = text.back() - '0';
  return world;
}

// The map as text: "hall (north kitchen, east attic); kitchen (south hall); …; key attic; goal kitchen".
std::string described_world(const World& world) {
  const auto name = [&](int room) { return kWords[world.names[static_cast<size_t>(room)]]; };
  std::string text;
  for (size_t r = 0; r < world.next.size(); ++r) {
    std::string exits;
    for (size_t d = 0; d < kDirections; ++d) {
      if (world.next[r][d] < 0) continue;
      exits += fmt::format("{}{} {}", exits.empty() ? "" : ", ", kWords[d], name(world.next[r][d]));
    }
    text += fmt::format("{} ({}); ", name(static_cast<int>(r)), exits);
  }
  return fmt::format("{}key {}; goal {}", text, name(world.key), name(world.goal()));
}

class Adventure : public TextTask {
 public:
  explicit Adventure(const AdventureOptions& options) : options_(options) {
    check_fields("adventure", fields(options_));
  }
  std::string name() const override { return "adventure"; }
  std::string about() const override {
    return fmt::format("find the key and the locked room among {} rooms in {} turns; reward: 1 when there",
                       options_.rooms, options_.turns);
  }
  const Tokenizer& tokenizer() const override { return adventure_tokenizer(); }
  int64_t max_prompt() const override { return kLongestAnswer; }
  int64_t max_response() const override { return 2 * options_.turns; }  // a command and the end token
  int64_t max_answers() const override { return (options_.turns - 1) * kLongestAnswer; }
  Problem sample(Generator& generator) const override { return draw(generator, false); }
  std::vector<Problem> held_out(int64_t count) const override {
    Generator generator(0);
    std::set<std::string> seen;
    std::vector<Problem> problems;
    for (int64_t i = 0; i < 100 * count && std::ssize(problems) < count; ++i) {
      Problem p = draw(generator, true);
      if (seen.insert(p.puzzle->gold).second) problems.push_back(std::move(p));
    }
    return problems;
  }
  Ids respond(const Problem& problem, std::span<const int32_t> response) const override {
    return play(problem, response).says;
  }
  std::string described(const Puzzle& puzzle) const override { return described_world(world_of(puzzle.gold)); }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    Score score;
    score.solved = play(problem, response).won;
    score.reward = score.solved;
    score.parts = {{"reached", score.reward}};
    return score;
  }

 private:
  struct Play {
    bool won = false;
    Ids says;  // what the environment answers to the last command; empty: the episode is over
  };
  // Plays the commands of the response. What stands between them must be what the environment said: words of the policy
  // that look like an answer are part of its next command, which is then impossible.
  Play play(const Problem& problem, std::span<const int32_t> response) const {
    const World world = world_of(problem.puzzle->gold);
    State state;
    for (int64_t turn = 1;; ++turn) {
      const auto end = std::ranges::find(response, static_cast<int32_t>(kEnd));
      if (end == response.end()) return {};
      const auto length = static_cast<size_t>(end - response.begin());
      const auto next = length == 1 ? after(world, state, response[0]) : std::nullopt;
      state = next.value_or(state);
      response = response.subspan(length + 1);
      if (state.room == world.goal()) return {.won = response.empty(), .says = {}};
      if (turn == options_.turns) return {};
      const Ids says = next ? description(world, state) : Ids{kNo};
      if (response.empty()) return {.won = false, .says = says};
      if (response.size() < says.size() || !std::ranges::equal(says, response.first(says.size()))) return {};
      response = response.subspan(says.size());
    }
  }

  Problem draw(Generator& generator, bool held_out) const {
    for (int64_t i = 0; i < 100000; ++i) {
      const World world = random_world(generator, options_.rooms);
      const Ids commands = solution(world);
      auto puzzle = std::make_shared<Puzzle>();
      puzzle->key = text_of(world, /*with_names=*/false);
      puzzle->gold = text_of(world, /*with_names=*/true);
      puzzle->level = static_cast<int>(commands.size());
      if (is_held_out(*puzzle) != held_out || std::ssize(commands) > options_.turns) continue;
      Problem problem;
      problem.prompt = description(world, {});
      State state;
      for (const int32_t command : commands) {
        state = after(world, state, command).value();
        problem.answer.insert(problem.answer.end(), {command, kEnd});
        problem.action_mask.resize(problem.answer.size(), 1);
        if (state.room == world.goal()) break;
        const Ids says = description(world, state);
        problem.answer.insert(problem.answer.end(), says.begin(), says.end());
        problem.action_mask.resize(problem.answer.size(), 0);
      }
      problem.puzzle = std::move(puzzle);
      return problem;
    }
    fail("adventure: of 100000 maps of {} rooms none can be solved in {} turns and is {}", options_.rooms,
         options_.turns, held_out ? "held out" : "to train on");
  }

  AdventureOptions options_;
};

}  // namespace

std::vector<Field> fields(AdventureOptions& o) {
  return {{"rooms", &o.rooms, "rooms of the map", whole_from(3, kMostRooms)},
          {"turns", &o.turns, "commands in an episode, at most", whole_from(4, 100)}};
}

std::unique_ptr<TextTask> adventure_task(const AdventureOptions& options) {
  return std::make_unique<Adventure>(options);
}

}  // namespace pg
