// The merges of byte-pair encoding: by hand, and both implementations beside a direct one.
#include <algorithm>

#include "tasks/bpe/bpe_merge.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Ids = std::vector<int32_t>;

// The definition: of all pairs with a merge the one of the lowest rank, the leftmost first.
Ids direct(const MergeTable& table, Ids ids) {
  for (;;) {
    size_t best = ids.size();
    uint32_t rank = MergeTable::kNone;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto merge = table.find(ids[i], ids[i + 1]);
      if (merge.rank < rank) {
        rank = merge.rank;
        best = i;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = table.find(ids[best], ids[best + 1]).id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

Ids scanned(const MergeTable& table, Ids ids) {
  MergeTable::Scratch scratch;
  table.scan(ids, scratch);
  return ids;
}
Ids heaped(const MergeTable& table, Ids ids) {
  MergeTable::Scratch scratch;
  table.heap(ids, scratch);
  return ids;
}

}  // namespace

TEST_CASE("merges are made in the order of their ranks", "[bpe]") {
  // Symbols a=0, b=1, c=2: first bc=3, then ab=4, then a bc=5.
  MergeTable table;
  table.set(1, 2, {0, 3});
  table.set(0, 1, {1, 4});
  table.set(0, 3, {2, 5});
  for (const auto& apply : {scanned, heaped, direct}) {
    CHECK(apply(table, {0, 1, 2}) == Ids{5});  // not ab c
    CHECK(apply(table, {0, 1, 0, 1, 2}) == Ids{4, 5});
    CHECK(apply(table, {2, 1}) == Ids{2, 1});
    CHECK(apply(table, {1}) == Ids{1});
    CHECK(apply(table, {}) == Ids{});
  }
  // The leftmost of equal pairs is merged first: aaa is aa a.
  MergeTable letters;
  letters.set(0, 0, {0, 1});
  CHECK(scanned(letters, {0, 0, 0}) == Ids{1, 0});
  CHECK(heaped(letters, {0, 0, 0}) == Ids{1, 0});
  // A second merge of a pair replaces the first one.
  letters.set(0, 0, {0, 7});
  CHECK(heaped(letters, {0, 0}) == Ids{7});
  CHECK(letters.find(0, 1).rank == MergeTable::kNone);
}

TEST_CASE("scan and heap give the ids of the definition for random merges and symbols", "[bpe]") {
  Generator g(5);
  const auto draw = [&](int32_t n) { return static_cast<int32_t>(g.integer(n)); };
  for (int round = 0; round < 300; ++round) {
    const int32_t letters = 1 + draw(4);
    MergeTable table;
    int32_t tokens = letters;
    for (int32_t rank = 0; rank < 40; ++rank) {
      // Some merges make the same token, and some share their rank, as those of a .tiktoken file.
      const int32_t id = draw(4) == 0 ? draw(tokens) : tokens++;
      table.set(draw(tokens), draw(tokens), {static_cast<uint32_t>(draw(3) == 0 ? rank / 2 : rank), id});
    }
    Ids ids(static_cast<size_t>(draw(200)));
    for (int32_t& id : ids) id = draw(letters);
    // Merges of arbitrary symbols may go round in circles, but each makes the piece shorter.
    const Ids expected = direct(table, ids);
    CHECK(scanned(table, ids) == expected);
    CHECK(heaped(table, ids) == expected);
  }
}

TEST_CASE("a piece of 100 000 equal letters is merged by the heap as by the definition of its parts", "[bpe]") {
  // 2, 4, 8 and 16 letters are tokens, so 100,000 letters are 6,250 tokens of 16.
  MergeTable table;
  for (int32_t i = 0; i < 4; ++i) table.set(i, i, {static_cast<uint32_t>(i), i + 1});
  CHECK(heaped(table, Ids(100000, 0)) == Ids(6250, 4));
  CHECK(heaped(table, Ids(100001, 0)).size() == 6251);
  CHECK(heaped(table, Ids(3007, 0)) == scanned(table, Ids(3007, 0)));
}
