// The checks of lesson 12 on the ring: one step at a time, from the right elements before it.
#include <cmath>
#include <optional>

#include "lessons/12_data_parallel/checks.h"
#include "tensor/comm/ring.h"

namespace pg::lesson12 {
namespace {

using kit::Grader;
using kit::Mistake;

using Rows = std::vector<std::vector<float>>;  // of each rank

enum class Phase { reduce, gather };
enum class Store { add, overwrite, ignore, twice, mean };
enum class Chunks { right, floor, ceiling, of_unsigned };
// A step by which rank r sends chunk r + send + sign·step and stores what comes in chunk r + receive + sign·step.
struct Rule {
  int send, receive, sign = -1;
  Store store = Store::add;
  Chunks chunks = Chunks::right;
  bool at_front = false;  // it is stored at x[0 + i], not at x[begin + i]
};
constexpr Rule kReduce{0, -1, -1, Store::add}, kGather{1, 0, -1, Store::overwrite};

Shard chunk_of(int64_t length, int index, int n, Chunks chunks) {
  int c = ((index % n) + n) % n;
  if (chunks == Chunks::of_unsigned) c = static_cast<int>(static_cast<unsigned>(index) % static_cast<unsigned>(n));
  if (chunks == Chunks::right || chunks == Chunks::of_unsigned) return pg::shard_of(length, c, n);
  const int64_t each = chunks == Chunks::floor ? length / n : (length + n - 1) / n;
  return {std::min(length, c * each), std::min(length, (c + 1) * each)};
}

// What the ranks have after a step; nullopt if one of them sends another length than is received.
std::optional<Rows> after(const Rows& before, int step, const Rule& rule) {
  Rows rows = before;
  const auto n = static_cast<int>(rows.size());
  const int64_t length = std::ssize(rows[0]);
  for (int r = 0; r < n; ++r) {
    const int left = (r + n - 1) % n;
    const Shard from = chunk_of(length, left + rule.send + rule.sign * step, n, rule.chunks);
    const Shard into = chunk_of(length, r + rule.receive + rule.sign * step, n, rule.chunks);
    if (from.size() != into.size()) return {};
    for (int64_t i = 0; i < into.size(); ++i) {
      float& x = rows[static_cast<size_t>(r)][static_cast<size_t>((rule.at_front ? 0 : into.begin) + i)];
      const float came = before[static_cast<size_t>(left)][static_cast<size_t>(from.begin + i)];
      if (rule.store == Store::add) x += came;
      if (rule.store == Store::overwrite) x = came;
      if (rule.store == Store::twice) x = 2 * came;
      if (rule.store == Store::mean) x = (x + came) / static_cast<float>(n);
    }
  }
  return rows;
}

kit::Value value_of(const Rows& rows) {
  kit::Value value({std::ssize(rows), std::ssize(rows[0])}, {});
  for (const auto& row : rows) value.v.insert(value.v.end(), row.begin(), row.end());
  return value;
}

struct Named {
  std::string says;
  Rule rule;
};
const std::vector<Named>& mistakes_of(Phase phase) {
  static const std::string right = "what comes from the left neighbour goes to the chunk that it sent, ";
  static const std::vector<Named> reduce = {
      {"a negative index as unsigned is a huge one: it is right only where n is a power of 2; add n first",
       {0, -1, -1, Store::add, Chunks::of_unsigned}},
      {"the chunk is overwritten: add what came to what is there", {0, -1, -1, Store::overwrite}},
      {"nothing changes: add what came to chunk (r - s - 1) mod n", {0, -1, -1, Store::ignore}},
      {"this is twice what came: it was received into the chunk itself, whose own elements are lost; receive into a "
       "place of its own",
       {0, -1, -1, Store::twice}},
      {"divided by the ranks in every step: the ring adds up, and a mean is divided once, at the end",
       {0, -1, -1, Store::mean}},
      {"chunks go the other way: (r + s) for (r - s); the sums pass by", {0, -1, 1}},
      {right + "(r - s - 1): r - s + 1 is that of the right neighbour", {0, 1, -1}},
      {"the two chunks are exchanged: send (r - s), add to (r - s - 1)", {-1, 0, -1}},
      {right + "(r - s - 1): it was added to the chunk that this rank sends", {0, 0, -1}},
      {"the step is left out: every step sends the same chunk", {0, -1, 0}},
      {"steps count from 0: step 0 sends chunk r", {-1, -2, -1}},
      {"chunks of N / n elements: the last elements belong to none; take pg::shard_of",
       {0, -1, -1, Store::add, Chunks::floor}},
      {"all chunks are rounded up, the last is short: the first are longer by one; take pg::shard_of",
       {0, -1, -1, Store::add, Chunks::ceiling}},
      {"what came is added at the beginning of x: its place is x[begin + i], of the chunk",
       {0, -1, -1, Store::add, Chunks::right, true}}};
  static const std::vector<Named> gather = {
      {"a negative index as unsigned is a huge one: it is right only where n is a power of 2; add n first",
       {1, 0, -1, Store::overwrite, Chunks::of_unsigned}},
      {"what came is added: it is the sum already, so it replaces what is there", {1, 0, -1, Store::add}},
      {"nothing changes: put what came into chunk (r - s) mod n; or is the step left out, and an old chunk sent again?",
       {1, 0, -1, Store::ignore}},
      {"divided by the ranks in every step: the gather phase only copies", {1, 0, -1, Store::mean}},
      {"step 0 sends chunk r: after the reduce phase chunk (r + 1) of rank r is complete",
       {0, -1, -1, Store::overwrite}},
      {"chunks go the other way: (r + 1 + s) for (r + 1 - s)", {1, 0, 1, Store::overwrite}},
      {right + "(r - s): r - s + 2 is that of the right neighbour", {1, 2, -1, Store::overwrite}},
      {"the two chunks are exchanged: send (r + 1 - s), receive (r - s)", {0, 1, -1, Store::overwrite}},
      {right + "(r - s): it was put into the chunk that this rank sends", {1, 1, -1, Store::overwrite}},
      {"chunks of N / n elements: the last elements belong to none; take pg::shard_of",
       {1, 0, -1, Store::overwrite, Chunks::floor}},
      {"all chunks are rounded up, the last is short: the first are longer by one; take pg::shard_of",
       {1, 0, -1, Store::overwrite, Chunks::ceiling}},
      {"what came is put at the beginning of x: its place is x[begin + i], of the chunk",
       {1, 0, -1, Store::overwrite, Chunks::right, true}}};
  return phase == Phase::reduce ? reduce : gather;
}

std::string diagnosis_of(const std::string& error) {
  const auto has = [&](const char* words) { return error.find(words) != std::string::npos; };
  if (has("both wait: deadlock")) {
    return has("to receive, and")
               ? "all ranks send first, and a send ends only when the neighbour receives: let even ranks send first, "
                 "odd ranks receive first"
               : "all ranks receive first, and nobody has sent: let even ranks send first, odd ranks receive first";
  }
  if (has("shard_of: rank -")) {
    return "the number of a chunk is negative: in C++ -1 % 4 is -1, so add n before you take the remainder";
  }
  if (has("shard_of: rank")) return "the number of a chunk is not below n: take it modulo n";
  if (has("which has ended")) return "a rank has ended too early: in each step every rank sends once and receives once";
  if (has("elements in step")) {
    return "the lengths differ: what a rank receives is the chunk that its left neighbour sends, and chunks may "
           "differ in size (pg::shard_of)";
  }
  return "";
}

// One step of all ranks; false if it is WRONG.
bool check_step(Grader& g, const Impl& impl, Phase phase, const Rows& before, int step) {
  const auto n = static_cast<int>(before.size());
  const int64_t length = std::ssize(before[0]);
  const std::string input = fmt::format("{} ranks, {} elements, step {}", n, length, step);
  const Rule& right = phase == Phase::reduce ? kReduce : kGather;
  Rows got = before;
  std::vector<int64_t> sent(before.size()), messages(before.size());
  try {
    run_ring(n, [&](Ring& ring) {
      CountingRing counting(ring);
      const auto r = static_cast<size_t>(ring.rank());
      (phase == Phase::reduce ? impl.ring_reduce_step : impl.ring_gather_step)(counting, got[r], step);
      sent[r] = counting.sent;
      messages[r] = counting.messages;
    });
  } catch (const Error& error) {
    const std::string want = phase == Phase::reduce ? "a sum in one chunk of each rank" : "one more chunk on each rank";
    return g.expect(false, input, error.what(), want, diagnosis_of(error.what()));
  }
  std::vector<Mistake> mistakes;
  for (const Named& one : mistakes_of(phase)) {
    if (const auto rows = after(before, step, one.rule)) mistakes.push_back({one.says, value_of(*rows)});
  }
  Rows all_steps = before;
  for (int s = 0; s < n - 1; ++s) all_steps = *after(all_steps, s, right);
  if (n > 2) mistakes.push_back({"all steps of the phase were made: one call is one step", value_of(all_steps)});
  if (!g.equal(input + ": the elements of all ranks", value_of(got), value_of(*after(before, step, right)),
               {.rtol = 0, .mistakes = mistakes})) {
    return false;
  }
  for (int r = 0; r < n; ++r) {
    const int64_t want = chunk_of(length, r + right.send - step, n, Chunks::right).size();
    const auto at = static_cast<size_t>(r);
    if (sent[at] == want && messages[at] == 1) continue;
    return g.expect(false, fmt::format("{}: what rank {} sends", input, r),
                    fmt::format("{} elements in {} messages", sent[at], messages[at]),
                    fmt::format("{} elements in 1 message", want),
                    sent[at] == want
                        ? "send the chunk in one message: each costs its latency"
                        : "the sums are right, but more is sent than one chunk: that is what the ring saves");
  }
  return true;
}

void check_phase(Grader& g, const Impl& impl, Phase phase) {
  struct Case {
    int ranks;
    int64_t length;
  };
  for (const Case& one :
       {Case{4, 8}, Case{3, 6}, Case{4, 10}, Case{2, 5}, Case{5, 3}, Case{3, 1}, Case{3, 0}, Case{7, 25}}) {
    Rows rows;
    for (int r = 0; r < one.ranks; ++r) {
      rows.emplace_back();
      // Whole numbers, so that every order of addition gives the same bits.
      for (int64_t i = 0; i < one.length; ++i) rows.back().push_back(static_cast<float>(100 * (r + 1) + (r + 3) * i));
    }
    if (one.ranks == 7) rows[2][5] = INFINITY;
    for (int step = 0; step < one.ranks - 1; ++step) {
      if (phase == Phase::reduce && !check_step(g, impl, phase, rows, step)) return;
      rows = *after(rows, step, kReduce);
    }
    for (int step = 0; phase == Phase::gather && step < one.ranks - 1; ++step) {
      if (!check_step(g, impl, phase, rows, step)) return;
      rows = *after(rows, step, kGather);
    }
  }
  g.note("every step of 2, 3, 4, 5 and 7 ranks, chunks of uneven size too, and of none");
}

}  // namespace

void check_reduce_step(Grader& g, const Impl& impl) { check_phase(g, impl, Phase::reduce); }
void check_gather_step(Grader& g, const Impl& impl) { check_phase(g, impl, Phase::gather); }

}  // namespace pg::lesson12
