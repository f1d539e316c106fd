// Counts the distinct pieces of a corpus.
#include "tasks/bpe/piece_counts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tensor/base/text.h"

namespace pg {

namespace {

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = bytes.size();
  while (bytes.size() > 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = mix_bits(hash ^ word);
    bytes.remove_prefix(8);
  }
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return mix_bits(hash ^ word ^ 0x9e3779b97f4a7c15u);
}

std::vector<std::string_view> chunks_of(std::string_view text, const std::vector<AddedToken>& special) {
  constexpr size_t usual = size_t{1} << 20;
  const bool cut = std::none_of(special.begin(), special.end(),
                                [](const AddedToken& token) { return token.content.find('\n') != std::string::npos; });
  std::vector<std::string_view> chunks;
  RegexScratch scratch;
  while (!text.empty()) {
    const size_t size = cut && text.size() > usual ? line_cut(text, usual, scratch) : text.size();
    chunks.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return chunks;
}

struct Counter {
  RegexScratch regex;
  PieceCounts counts;
};

}  // namespace

PieceCounts::Slot& PieceCounts::slot_of(std::string_view piece, uint64_t hash) {
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].count > 0 && (slots_[i].hash != hash || piece_of(slots_[i]) != piece)) i = (i + 1) & mask;
  return slots_[i];
}

void PieceCounts::grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.count == 0) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].count > 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

void PieceCounts::add(std::string_view piece, int64_t count) {
  const uint64_t hash = hash_of(piece);
  Slot& slot = slot_of(piece, hash);
  if (slot.count > 0) {
    slot.count += count;
    return;
  }
  check(piece.size() <= UINT32_MAX, "BPE training: a piece of {} bytes is too long", piece.size());
  slot = {hash, bytes_.size(), static_cast<uint32_t>(piece.size()), count};
  bytes_ += piece;
  if (2 * ++used_ > slots_.size()) grow();
}

void PieceCounts::add(const PieceCounts& other) {
  other.for_each([this](std::string_view piece, int64_t count) { add(piece, count); });
}

PieceCounts count_pieces(std::span<const std::string_view> texts, const std::vector<AddedToken>& special,
                         const Normalizer& normalizer, const Pretokenizer& pretokenizer) {
  std::vector<std::string_view> chunks;
  for (const std::string_view text : texts) {
    const auto more = chunks_of(text, special);
    chunks.insert(chunks.end(), more.begin(), more.end());
  }
  const AddedTokens added(special, false, normalizer);
  std::mutex mutex;
  std::vector<std::unique_ptr<Counter>> counters;  // one per thread, waiting for its next chunk
  parallel_for(std::ssize(chunks), 1, [&](int64_t begin, int64_t end) {
    std::unique_ptr<Counter> mine;
    {
      std::lock_guard lock(mutex);
      if (!counters.empty()) {
        mine = std::move(counters.back());
        counters.pop_back();
      }
    }
    if (!mine) mine = std::make_unique<Counter>();
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      for (const AddedTokens::Part& part : added.split(chunks[i], /*skip_special=*/false, mine->regex)) {
        if (part.id >= 0) continue;
        std::string changed;
        std::string_view text = part.text;
        if (normalizer.changes_text()) text = changed = normalizer(text);
        pretokenizer.split(text, mine->regex, [&](std::string_view piece) { mine->counts.add(piece); });
      }
    }
    std::lock_guard lock(mutex);
    counters.push_back(std::move(mine));
  });
  PieceCounts all;
  for (const auto& counter : counters) {
    if (all.size() == 0) {
      all = std::move(counter->counts);
    } else {
      all.add(counter->counts);
    }
  }
  return all;
}

namespace {

// The character that ends at byte `end`; empty if the bytes there are no character.
std::string_view character_before(std::string_view text, size_t end) {
  for (size_t size = 1; size <= std::min<size_t>(4, end); ++size) {
    const std::string_view last = text.substr(end - size, size);
    if (valid_prefix(last) == size) return last;
  }
  return {};
}

bool matches(const Regex& regex, std::string_view character, RegexScratch& scratch) {
  if (character.empty() || valid_prefix(character) != character.size()) return false;
  const Regex::Match match = regex.find(character, 0, scratch);
  return match.begin == 0 && match.end == character.size();
}

}  // namespace

size_t line_cut(std::string_view text, size_t from, RegexScratch& scratch, LineEnds ends) {
  static const Regex no_space("\\S"), letter_or_digit("[\\p{L}\\p{N}]");
  for (size_t i = text.find('\n', from); i < text.size() && i + 1 < text.size(); i = text.find('\n', i + 1)) {
    const bool crlf = ends == LineEnds::lf_or_crlf && i > 0 && text[i - 1] == '\r';
    const std::string_view rest = text.substr(i + 1);
    if (matches(no_space, character_before(text, crlf ? i - 1 : i), scratch) &&
        matches(letter_or_digit, rest.substr(0, first_unit(rest).bytes), scratch)) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace pg
