// The demonstration of lesson 5, third part: how fast a text is encoded, and that it comes back.
// Full optimisation: it times encoders.
#include "lessons/05_tokens/demo.h"
#include "lessons/kit/plot.h"
#include "tasks/bpe/piece_cache.h"
#include "tensor/base/clock.h"

namespace pg::lesson05 {
namespace {

using Ids = std::vector<int32_t>;

struct Lap {
  std::string name;
  double rate;  // MB/s of processor time
  Ids ids;
};

// How fast `piece` encodes all pieces. A second round is timed, in which everything is in the caches.
template <class F>
Lap lap(const std::string& name, const std::vector<std::string_view>& pieces, F&& piece) {
  Lap result{name, 0, {}};
  double bytes = 0;
  for (const std::string_view p : pieces) bytes += static_cast<double>(p.size());
  for (int round = 0; round < 2; ++round) {
    result.ids.clear();
    const double start = thread_seconds();
    for (const std::string_view p : pieces) piece(p, result.ids);
    result.rate = bytes / 1e6 / std::max(thread_seconds() - start, 1e-9);
  }
  return result;
}

kit::Bar bar(const Lap& lap) { return {lap.name, lap.rate, fmt::format("{:.1f} MB/s", lap.rate)}; }

int64_t differences(const Ids& a, const Ids& b) {
  int64_t count = std::abs(std::ssize(a) - std::ssize(b));
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

void show_race(kit::Demo& demo, const Impl& impl, std::string_view text, const Vocabulary& vocabulary) {
  demo.heading("An encoder race");
  const MergeTable merges = vocabulary.table(vocabulary.merges.size());
  MergeTable::Scratch scratch;
  Ids symbols;
  const auto by = [&](auto method) {
    return [&, method](std::string_view piece, Ids& out) {
      symbols.clear();
      for (const char c : piece) symbols.push_back(vocabulary.byte_ids[static_cast<uint8_t>(c)]);
      (merges.*method)(symbols, scratch);
      out.insert(out.end(), symbols.begin(), symbols.end());
    };
  };
  const auto own = [&](std::string_view piece, Ids& out) {
    const Ids ids = impl.encode_piece(piece, vocabulary.byte_ids, merges);
    out.insert(out.end(), ids.begin(), ids.end());
  };
  PieceCache cache;
  const auto apply = by(&MergeTable::apply);
  const auto cached = [&](std::string_view piece, Ids& out) { cache.append(piece, out, apply); };

  const std::vector<std::string_view> pieces = impl.split(text, "");
  const std::vector<Lap> words = {
      lap("encode_piece", pieces, own), lap("all pairs each time", pieces, by(&MergeTable::scan)),
      lap("a heap of ranks", pieces, by(&MergeTable::heap)), lap("a cache of pieces", pieces, cached)};
  demo.say("The stories, {} pieces of {:.1f} bytes on average, {} merges, one thread:", pieces.size(),
           static_cast<double>(text.size()) / static_cast<double>(pieces.size()), vocabulary.merges.size());
  demo.show(kit::bars({bar(words[0]), bar(words[1]), bar(words[2]), bar(words[3])}));
  demo.gap();

  std::string long_piece;  // the letters of the stories without anything between them
  for (const char c : text) {
    if (long_piece.size() < 8000 && c >= 'a' && c <= 'z') long_piece += c;
  }
  const std::vector<Lap> whole = {lap("encode_piece", {long_piece}, own),
                                  lap("all pairs each time", {long_piece}, by(&MergeTable::scan)),
                                  lap("a heap of ranks", {long_piece}, by(&MergeTable::heap))};
  demo.say(
      "One piece of {} letters, as DNA or a long Chinese sentence gives. n letters need about n merges, and to look at "
      "all pairs for each of them is n² steps. A heap keeps the lowest rank on top: n log n.",
      long_piece.size());
  demo.show(kit::bars({bar(whole[0]), bar(whole[1]), bar(whole[2])}));
  demo.gap();
  demo.say(
      "On short pieces the plain search is as good as the heap, so the engine chooses by the length. The cache wins "
      "because a text repeats its words. encode_piece is exercise 05.4: the engine's here, which loses time only by "
      "making a vector for each piece, and yours in ./lesson5 mine.");
  int64_t wrong = 0;
  for (const Lap& lap : words) wrong += differences(words[0].ids, lap.ids);
  for (const Lap& lap : whole) wrong += differences(whole[0].ids, lap.ids);
  demo.claim("ids in which the encoders differ", static_cast<double>(wrong), "", kit::equals(0));
  demo.claim("the cache over the heap, on words", words[3].rate / words[2].rate, "x", kit::at_least(1.5));
  demo.claim("the heap over all pairs, on the long piece", whole[2].rate / whole[1].rate, "x", kit::at_least(2));
}

void show_round_trip(kit::Demo& demo, const Impl& impl, const Vocabulary& vocabulary) {
  demo.heading("There and back");
  const MergeTable merges = vocabulary.table(vocabulary.merges.size());
  Generator random(56);
  const int strings = 10'000;
  int64_t wrong = 0, bytes = 0, tokens = 0;
  for (int i = 0; i < strings; ++i) {
    std::string text(random.integer(64), '\0');
    for (char& c : text) c = static_cast<char>(random.integer(256));
    const Ids ids = encode(impl, text, vocabulary.byte_ids, merges);
    wrong += decode(ids, vocabulary.tokens) != text;
    bytes += std::ssize(text);
    tokens += std::ssize(ids);
  }
  demo.say(
      "{} strings of random bytes, most of them no valid UTF-8, become {} tokens for {} bytes. No string is refused, "
      "and none needs a token for \"unknown\": every byte has its own.",
      strings, tokens, bytes);
  demo.claim("strings that do not come back", static_cast<double>(wrong), "of 10,000", kit::equals(0));
}

}  // namespace pg::lesson05
