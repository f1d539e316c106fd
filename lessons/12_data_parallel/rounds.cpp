// The demonstration of lesson 12: who sends which chunk to whom in each round of the ring.
#include "lessons/12_data_parallel/demo.h"
#include "lessons/kit/drawing.h"

namespace pg::lesson12 {
namespace {

constexpr int kRanks = 4, kRounds = 2 * (kRanks - 1);

// The numbers of one rank, one for each chunk, before the first round and after each.
using Values = std::array<float, kRanks>;
using Rounds = std::array<std::array<Values, kRanks>, kRounds + 1>;  // by round, then by rank

Rounds run_rounds(const Impl& impl) {
  Rounds rounds;
  run_ring(kRanks, [&](Ring& ring) {
    Values x;
    x.fill(1);
    for (int round = 0; round <= kRounds; ++round) {
      if (round > 0 && round < kRanks) impl.ring_reduce_step(ring, x, round - 1);
      if (round >= kRanks) impl.ring_gather_step(ring, x, round - kRanks);
      rounds[static_cast<size_t>(round)][static_cast<size_t>(ring.rank())] = x;
    }
  });
  return rounds;
}

std::string name_of_round(int round) {
  if (round == 0) return "before";
  return round < kRanks ? fmt::format("reduce, step {}", round - 1) : fmt::format("gather, step {}", round - kRanks);
}

// The chunk that the right neighbour of `rank` received in a round: the first of its chunks that changed; -1 if none.
int sent_chunk(const Rounds& rounds, int round, int rank) {
  if (round == 0) return -1;
  const auto at = static_cast<size_t>(round), right = static_cast<size_t>((rank + 1) % kRanks);
  for (size_t c = 0; c < kRanks; ++c) {
    if (rounds[at][right][c] != rounds[at - 1][right][c]) return static_cast<int>(c);
  }
  return -1;
}
// The same by the formula of tensor/comm/ring.h.
int chunk_to_send(int round, int rank) {
  const int step = round < kRanks ? round - 1 : round - kRanks - 1;  // a gather sends chunk rank + 1 - step
  return (rank - step + 2 * kRanks) % kRanks;
}

std::string table(const Rounds& rounds) {
  std::string text = "                 rank 0     rank 1     rank 2     rank 3     they send chunk\n";
  for (int round = 0; round <= kRounds; ++round) {
    text += fmt::format("{:15}  ", name_of_round(round));
    for (const Values& values : rounds[static_cast<size_t>(round)]) {
      text += fmt::format("{:g} {:g} {:g} {:g}    ", values[0], values[1], values[2], values[3]);
    }
    for (int rank = 0; round > 0 && rank < kRanks; ++rank) {
      text += fmt::format("{:>4}", sent_chunk(rounds, round, rank));
    }
    text = text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// The ranks at the corners of a square, clockwise, each with a cell for each chunk; in each round four arrows.
kit::DrawnFrame frame(const Rounds& rounds, int round) {
  constexpr double kCell = 33, kWidth = kRanks * kCell, kHeight = 62, kRight = kit::kDrawingWidth - kWidth - 2;
  constexpr double kBelow = 152, kMiddle = 22 + kCell / 2;
  constexpr double kX[] = {2, kRight, kRight, 2}, kY[] = {2, 2, kBelow, kBelow};
  kit::DrawnFrame frame{round == 0       ? "Each rank has four chunks of one element, 1."
                        : round < kRanks ? fmt::format("Reduce, step {}: the receiver adds.", round - 1)
                                         : fmt::format("Gather, step {}: the receiver stores.", round - kRanks)};
  for (int rank = 0; rank < kRanks; ++rank) {
    frame.boxes.push_back({kX[rank], kY[rank], kWidth, kHeight, {fmt::format("rank {}", rank)}, false, true});
    const int received = sent_chunk(rounds, round, (rank + kRanks - 1) % kRanks);
    for (int c = 0; c < kRanks; ++c) {
      const float value = rounds[static_cast<size_t>(round)][static_cast<size_t>(rank)][static_cast<size_t>(c)];
      frame.boxes.push_back(
          {kX[rank] + c * kCell + 2, kY[rank] + 22, kCell - 4, kCell + 3, {fmt::format("{:g}", value)}, c == received});
    }
    if (round == 0) continue;
    const std::string label = fmt::format("chunk {}", sent_chunk(rounds, round, rank));
    const double from_left = kX[rank] + (rank == 0 ? kWidth + 3 : rank == 2 ? -3 : kWidth / 2);
    const double to = kX[(rank + 1) % kRanks] + (rank == 0 ? -3 : rank == 2 ? kWidth + 3 : kWidth / 2);
    const double from_top = kY[rank] + (rank == 1 ? kHeight + 3 : rank == 3 ? -3 : kMiddle);
    const double to_top = kY[(rank + 1) % kRanks] + (rank == 1 ? -3 : rank == 3 ? kHeight + 3 : kMiddle);
    frame.arrows.push_back({from_left, from_top, to, to_top, label, true});
  }
  return frame;
}

}  // namespace

void show_rounds(kit::Demo& demo, const Impl& impl) {
  demo.say(
      "Four ranks, four elements each, all of them 1. An all-reduce gives every rank the sums. So each number "
      "below says how many ranks are in that sum already. Every rank sends one chunk to the right in each step; which, "
      "say the last four columns, one for each rank:");
  const Rounds rounds = run_rounds(impl);
  kit::Drawing drawing{"The ring: who sends which chunk to whom", kit::kDrawingWidth, 218, {}, table(rounds)};
  int others = 0;
  for (int round = 0; round <= kRounds; ++round) {
    drawing.frames.push_back(frame(rounds, round));
    for (int rank = 0; round > 0 && rank < kRanks; ++rank) {
      others += sent_chunk(rounds, round, rank) != chunk_to_send(round, rank);
    }
  }
  demo.show(kit::drawn(drawing));
  demo.gap();
  demo.say(
      "Each sum grows by one in each step, on the next rank. After three steps each rank has one complete sum, a 4, "
      "and not in the chunk with its own number. Three more steps pass the 4s on.");
  demo.claim("chunks sent that the formula does not name", others, fmt::format("of {}", kRounds * kRanks),
             kit::equals(0));
  demo.gap();
}

}  // namespace pg::lesson12
