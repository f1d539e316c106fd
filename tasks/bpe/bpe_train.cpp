// The trainer: counts of pairs, a queue of the most frequent ones, and where they are.
#include "tasks/bpe/bpe_train.h"

#include <algorithm>
#include <array>
#include <queue>

#include "tasks/bpe/bpe_merge.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/piece_counts.h"
#include "tensor/base/error.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

using Pair = uint64_t;  // left id << 32 | right id: pairs in the order of their ids
Pair pair_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

// A distinct piece: its tokens are symbols[begin, begin + size).
struct Word {
  size_t begin;
  uint32_t size;
  int64_t count;
};

// The words that have a pair, as a queue entry holds them. The count may be out of date: it is corrected when the entry
// reaches the top of the queue.
struct Candidate {
  int64_t count;
  Pair pair;
  uint32_t list;  // index into lists_

  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  Trainer(const PieceCounts& pieces, const BpeTrainOptions& options) : options_(options) {
    for (const std::string& content : options.special) {
      data_.added.push_back({.id = static_cast<int32_t>(data_.tokens.size()), .content = content, .special = true});
      add_token(content);
    }
    std::array<uint32_t, 256> byte_ids;
    for (const char c : bytes_in_symbol_order()) {
      byte_ids[static_cast<uint8_t>(c)] = add_token(byte_symbol(static_cast<uint8_t>(c)));
    }
    pieces.for_each([&](std::string_view piece, int64_t count) {
      words_.push_back({symbols_.size(), static_cast<uint32_t>(piece.size()), count});
      for (const char c : piece) symbols_.push_back(byte_ids[static_cast<uint8_t>(c)]);
    });
  }

  BpeData run() {
    count_pairs();
    const auto size = [this] { return static_cast<int64_t>(data_.tokens.size()); };
    while (size() < options_.vocab_size && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[pair_index(top.pair)].count;
      if (top.count != count) {
        top.count = count;
        queue_.push(top);
        continue;
      }
      if (count < 1 || count < options_.min_frequency) break;
      merge(top);
      if (options_.progress && data_.merges.size() % 256 == 0) options_.progress(size(), options_.vocab_size);
    }
    return std::move(data_);
  }

 private:
  // A token that exists already, by two ways of merging, keeps its id.
  uint32_t add_token(const std::string& token) {
    const auto [found, is_new] = ids_.emplace(token, static_cast<uint32_t>(data_.tokens.size()));
    if (is_new) data_.tokens.push_back(token);
    return found->second;
  }

  size_t pair_index(Pair pair) {
    const size_t mask = slots_.size() - 1;
    size_t i = mix_bits(pair) & mask;
    while (slots_[i].index != kFree && slots_[i].pair != pair) i = (i + 1) & mask;
    if (slots_[i].index != kFree) return slots_[i].index;
    const auto index = static_cast<uint32_t>(pairs_.size());
    slots_[i] = {pair, index};
    pairs_.push_back({pair});
    if (2 * pairs_.size() > slots_.size()) grow();
    return index;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), {});
    const size_t mask = slots_.size() - 1;
    for (uint32_t index = 0; index < pairs_.size(); ++index) {
      size_t i = mix_bits(pairs_[index].pair) & mask;
      while (slots_[i].index != kFree) i = (i + 1) & mask;
      slots_[i] = {pairs_[index].pair, index};
    }
  }

  void occurs(size_t index, uint32_t word, int64_t count) {
    PairState& state = pairs_[index];
    state.count += count;
    if (state.words.empty()) new_.push_back(static_cast<uint32_t>(index));
    if (state.words.empty() || state.words.back() != word) state.words.push_back(word);
  }

  // The pairs that have occurred since the last call become candidates.
  void enqueue_new() {
    for (const uint32_t index : new_) {
      PairState& state = pairs_[index];
      if (state.count > 0) {
        queue_.push({state.count, state.pair, static_cast<uint32_t>(lists_.size())});
        lists_.push_back(std::move(state.words));
      }
      state.words = {};
    }
    new_.clear();
  }

  void count_pairs() {
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const uint32_t* symbols = symbols_.data() + words_[w].begin;
      for (uint32_t i = 0; i + 1 < words_[w].size; ++i) {
        occurs(pair_index(pair_of(symbols[i], symbols[i + 1])), w, words_[w].count);
      }
    }
    enqueue_new();
  }

  void merge(const Candidate& top) {
    const auto left = static_cast<uint32_t>(top.pair >> 32), right = static_cast<uint32_t>(top.pair);
    const uint32_t id = add_token(data_.tokens[left] + data_.tokens[right]);
    data_.merges.push_back({static_cast<int32_t>(left), static_cast<int32_t>(right), static_cast<int32_t>(id)});
    for (const uint32_t w : std::exchange(lists_[top.list], {})) merge_in(w, left, right, id);
    enqueue_new();
  }

  // Replaces the pair in a word from left to right and counts the pairs that go and come.
  void merge_in(uint32_t w, uint32_t left, uint32_t right, uint32_t id) {
    Word& word = words_[w];
    uint32_t* symbols = symbols_.data() + word.begin;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < word.size; ++i) {
      if (symbols[i] != left || i + 1 == word.size || symbols[i + 1] != right) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) {
        pairs_[pair_index(pair_of(symbols[kept - 1], left))].count -= word.count;
        occurs(pair_index(pair_of(symbols[kept - 1], id)), w, word.count);
      }
      if (i + 2 < word.size) {
        pairs_[pair_index(pair_of(right, symbols[i + 2]))].count -= word.count;
        occurs(pair_index(pair_of(id, symbols[i + 2])), w, word.count);
      }
      symbols[kept++] = id;
      ++i;
    }
    word.size = kept;
  }

  static constexpr uint32_t kFree = UINT32_MAX;
  struct PairState {
    Pair pair;
    int64_t count = 0;
    std::vector<uint32_t> words = {};  // in which it has occurred since enqueue_new()
  };
  struct Slot {
    Pair pair = 0;
    uint32_t index = kFree;  // into pairs_
  };

  const BpeTrainOptions& options_;
  BpeData data_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<Word> words_;
  std::vector<uint32_t> symbols_;
  std::vector<PairState> pairs_;
  std::vector<Slot> slots_ = std::vector<Slot>(1 << 16);  // open addressing, a power of two
  std::vector<uint32_t> new_;                             // pairs with words
  std::vector<std::vector<uint32_t>> lists_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

BpeTokenizer train_bpe(std::span<const std::string_view> texts, const BpeTrainOptions& options) {
  const SplitPattern& pattern = find_row(split_patterns(), "--pattern", options.pattern);
  const int64_t least = 256 + std::ssize(options.special);
  check(options.vocab_size >= least && options.vocab_size <= (int64_t{1} << 30),
        "BPE training: the vocabulary size must be from {} (256 bytes and {} special tokens) to 2^30, got {}", least,
        options.special.size(), options.vocab_size);
  std::vector<AddedToken> special;
  for (const std::string& content : options.special) {
    check(!content.empty(), "BPE training: a special token must not be empty");
    check(!bytes_of_symbols(content) || bytes_of_symbols(content)->size() > 1,
          "BPE training: the special token '{}' is a single byte, which is a token already", excerpt(content, 40));
    special.push_back({.id = static_cast<int32_t>(special.size()), .content = content, .special = true});
  }
  const Normalizer normalizer(pattern.normalizer);
  const PieceCounts pieces = count_pieces(texts, special, normalizer, Pretokenizer(pattern.pre_tokenizer));
  check(pieces.size() > 0, "BPE training: the text is empty");
  BpeData data = Trainer(pieces, options).run();
  data.pre_tokenizer = pattern.pre_tokenizer;
  data.normalizer = pattern.normalizer;
  return BpeTokenizer(std::move(data));
}

}  // namespace pg
