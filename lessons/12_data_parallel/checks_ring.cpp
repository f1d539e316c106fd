// The checks of lesson 12 on the ring: one step at a time, from the right elements before it.
#include <cmath>

#include "lessons/12_data_parallel/checks.h"
#include "tensor/comm/ring.h"

namespace pg::lesson12 {
namespace {

using kit::Grader, kit::Mistake;

using Rows = std::vector<std::vector<float>>;  // of each rank

using Piece = decltype(Impl::ring_reduce_step);

// What comes in step s goes to chunk r + receive - s of rank r, where it is added or replaces what is there.
struct Phase {
  Piece Impl::*piece;
  int receive;
  bool adds;
  const char* want;
  std::vector<kit::KnownMistake<Piece>> mistakes;
};
Phase reduce_phase() {
  return {&Impl::ring_reduce_step, -1, true, "a sum in one chunk of each rank", reduce_mistakes()};
}
Phase gather_phase() { return {&Impl::ring_gather_step, 0, false, "one more chunk on each rank", gather_mistakes()}; }

Shard chunk_of(int64_t length, int index, int n) { return pg::shard_of(length, ((index % n) + n) % n, n); }

// What the ranks have after a step.
Rows after(const Rows& before, int step, const Phase& phase) {
  Rows rows = before;
  const auto n = static_cast<int>(rows.size());
  for (int r = 0; r < n; ++r) {
    const Shard chunk = chunk_of(std::ssize(rows[0]), r + phase.receive - step, n);
    for (auto i = static_cast<size_t>(chunk.begin); i < static_cast<size_t>(chunk.end); ++i) {
      float& x = rows[static_cast<size_t>(r)][i];
      x = (phase.adds ? x : 0) + before[static_cast<size_t>((r + n - 1) % n)][i];
    }
  }
  return rows;
}

kit::Value value_of(const Rows& rows) {
  kit::Value value({std::ssize(rows), std::ssize(rows[0])}, {});
  for (const auto& row : rows) value.v.insert(value.v.end(), row.begin(), row.end());
  return value;
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

// What the known mistakes make of a step, but for those with which the ring stands still.
std::vector<Mistake> elements_of(const Phase& phase, const Rows& before, int step) {
  std::vector<Mistake> all;
  for (const auto& row : phase.mistakes) {
    Rows rows = before;
    try {
      run_ring(static_cast<int>(rows.size()),
               [&](Ring& ring) { row.wrong(ring, rows[static_cast<size_t>(ring.rank())], step); });
      all.push_back({row.says, value_of(rows)});
    } catch (const Error&) {
    }
  }
  return all;
}

// One step of all ranks; false if it is WRONG.
bool check_step(Grader& g, const Impl& impl, const Phase& phase, const Rows& before, int step) {
  const auto n = static_cast<int>(before.size());
  const int64_t length = std::ssize(before[0]);
  const std::string input = fmt::format("{} ranks, {} elements, step {}", n, length, step);
  const Rows want_rows = after(before, step, phase);
  Rows got = before;
  std::vector<int64_t> sent(before.size()), messages(before.size());
  try {
    run_ring(n, [&](Ring& ring) {
      CountingRing counting(ring);
      const auto r = static_cast<size_t>(ring.rank());
      (impl.*phase.piece)(counting, got[r], step);
      sent[r] = counting.sent;
      messages[r] = counting.messages;
    });
  } catch (const Error& error) {
    return g.expect(false, input, error.what(), phase.want, diagnosis_of(error.what()));
  }
  const auto mistakes = got == want_rows ? std::vector<Mistake>{} : elements_of(phase, before, step);
  if (!g.equal(input + ": the elements of all ranks", value_of(got), value_of(want_rows),
               {.rtol = 0, .mistakes = mistakes})) {
    return false;
  }
  for (int r = 0; r < n; ++r) {
    const int64_t want = chunk_of(length, r + phase.receive + 1 - step, n).size();
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

void check_phase(Grader& g, const Impl& impl, bool gather) {
  const Phase first = reduce_phase(), second = gather_phase();
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
      for (int64_t i = 0; i < one.length; ++i)
        rows.back().push_back(static_cast<float>((100 * (r + 1) + (r + 3) * i) * ((i + r) % 3 == 0 ? -1 : 1)));
    }
    if (one.ranks == 7) rows[2][5] = INFINITY;
    for (int step = 0; step < one.ranks - 1; ++step) {
      if (!gather && !check_step(g, impl, first, rows, step)) return;
      rows = after(rows, step, first);
    }
    for (int step = 0; gather && step < one.ranks - 1; ++step) {
      if (!check_step(g, impl, second, rows, step)) return;
      rows = after(rows, step, second);
    }
  }
  g.note("every step of 2, 3, 4, 5 and 7 ranks, chunks of uneven size too, and of none");
}

}  // namespace

void check_reduce_step(Grader& g, const Impl& impl) { check_phase(g, impl, false); }
void check_gather_step(Grader& g, const Impl& impl) { check_phase(g, impl, true); }

}  // namespace pg::lesson12
