// Encoding and decoding with byte-level BPE.
#include "tasks/bpe/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "tasks/bpe/bpe_merge.h"
#include "tasks/bpe/piece_cache.h"
#include "tasks/bpe/pretokenizer.h"
#include "tasks/bpe/token_table.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// What one thread needs to encode.
struct Workspace {
  RegexScratch regex;
  MergeTable::Scratch merge;
  std::vector<int32_t> symbols;
  PieceCache cache;
};

// Workspaces for the threads that encode at this moment. They are kept, with what they have cached.
class Workspaces {
 public:
  Workspaces() { free_.reserve(1024); }

  class Lease {
   public:
    explicit Lease(Workspaces& owner) : owner_(owner), mine_(owner.take()) {}
    ~Lease() { owner_.put(std::move(mine_)); }
    Lease(const Lease&) = delete;
    Workspace& operator*() const { return *mine_; }

   private:
    Workspaces& owner_;
    std::unique_ptr<Workspace> mine_;
  };

 private:
  std::unique_ptr<Workspace> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto last = std::move(free_.back());
        free_.pop_back();
        return last;
      }
    }
    return std::make_unique<Workspace>();
  }
  void put(std::unique_ptr<Workspace> workspace) noexcept {
    std::lock_guard lock(mutex_);
    if (free_.size() < free_.capacity()) free_.push_back(std::move(workspace));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

MergeTable merge_table(const BpeData& data) {
  MergeTable table(data.merges.size());
  check(data.merges.size() < MergeTable::kNone, "tokenizer: too many merges: {}", data.merges.size());
  const auto known = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < data.tokens.size() && !data.tokens[static_cast<size_t>(id)].empty();
  };
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const BpeData::Merge& m = data.merges[i];
    check(known(m.left) && known(m.right) && known(m.id),
          "tokenizer: merge {} has the ids {}, {} and {}, which are not all in the vocabulary", i, m.left, m.right,
          m.id);
    table.set(m.left, m.right, {static_cast<uint32_t>(data.rank_is_id ? static_cast<size_t>(m.id) : i), m.id});
  }
  return table;
}

}  // namespace

int32_t usual_end(const std::vector<AddedToken>& added) {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "</s>"}) {
    for (const AddedToken& token : added) {
      if (token.content == name) return token.id;
    }
  }
  return -1;
}

struct BpeTokenizer::State {
  explicit State(BpeData d)
      : data(std::move(d)),
        normalizer(data.normalizer),
        pretokenizer(data.pre_tokenizer),
        table(data.tokens, data.added),
        merges(merge_table(data)),
        raw_added(data.added, false, normalizer),
        normalized_added(data.added, true, normalizer),
        end(data.end >= 0 ? data.end : usual_end(data.added)) {
    for (size_t b = 0; b < byte_ids.size(); ++b) {
      const char byte = static_cast<char>(b);
      byte_ids[b] = table.find({&byte, 1});
    }
    for (const auto* ids : {&data.post_processor.before, &data.post_processor.after}) {
      for (const int32_t id : *ids) {
        check(table.has(id), "tokenizer: the post-processor adds the id {}, which no token has", id);
      }
    }
    check(end < 0 || table.has(end), "tokenizer: the id {} of the token that ends a text is not in the vocabulary",
          end);
  }

  BpeData data;
  Normalizer normalizer;
  Pretokenizer pretokenizer;
  TokenTable table;
  MergeTable merges;
  AddedTokens raw_added, normalized_added;
  int32_t end;
  std::array<int32_t, 256> byte_ids;
  mutable Workspaces workspaces;

  void encode_piece(std::string_view piece, std::vector<int32_t>& out, Workspace& w) const {
    if (data.whole_pieces) {
      if (const int32_t id = table.find(piece); id >= 0) {
        out.push_back(id);
        return;
      }
    }
    w.symbols.resize(piece.size());
    for (size_t i = 0; i < piece.size(); ++i) {
      const auto byte = static_cast<uint8_t>(piece[i]);
      w.symbols[i] = byte_ids[byte];
      check(w.symbols[i] >= 0, "tokenizer: the vocabulary has no token for the byte {:#04x}", byte);
    }
    merges.apply(w.symbols, w.merge);
    out.insert(out.end(), w.symbols.begin(), w.symbols.end());
  }

  // Text without added tokens.
  void encode_plain(std::string_view text, std::vector<int32_t>& out, Workspace& w) const {
    std::string spaced;
    if (pretokenizer.adds_space() && !text.starts_with(' ')) {
      spaced = fmt::format(" {}", text);
      text = spaced;
    }
    const auto encode = [&](std::string_view piece, std::vector<int32_t>& ids) { encode_piece(piece, ids, w); };
    pretokenizer.split(text, w.regex, [&](std::string_view piece) { w.cache.append(piece, out, encode); });
  }

  void encode_text(std::string_view text, const EncodeOptions& options, std::vector<int32_t>& out, Workspace& w) const {
    for (const AddedTokens::Part& part : raw_added.split(text, !options.special_tokens, w.regex)) {
      if (part.id >= 0) {
        out.push_back(part.id);
        continue;
      }
      std::string changed;
      std::string_view plain = part.text;
      if (normalizer.changes_text()) plain = changed = normalizer(plain);
      for (const AddedTokens::Part& inner : normalized_added.split(plain, !options.special_tokens, w.regex)) {
        if (inner.id >= 0) {
          out.push_back(inner.id);
        } else {
          encode_plain(inner.text, out, w);
        }
      }
    }
  }
};

BpeTokenizer::BpeTokenizer(BpeData data) : state_(std::make_shared<const State>(std::move(data))) {}

std::vector<int32_t> BpeTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const State& s = *state_;
  const Workspaces::Lease workspace(s.workspaces);
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4 + 8);
  const PostProcessor& around = s.data.post_processor;
  if (options.surround) ids = around.before;
  s.encode_text(text, options, ids, *workspace);
  if (options.surround) ids.insert(ids.end(), around.after.begin(), around.after.end());
  return ids;
}

std::vector<std::vector<int32_t>> BpeTokenizer::encode_batch(std::span<const std::string_view> texts,
                                                             const EncodeOptions& options) const {
  std::vector<std::vector<int32_t>> ids(texts.size());
  parallel_for(std::ssize(texts), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) ids[i] = encode(texts[i], options);
  });
  return ids;
}

// Normal form C is that of the parts: the part before the cut ends with \n, which combines with nothing. An added token
// does not reach over the cut, because it has no \n, and the white space that it takes along does not, because a letter
// or digit follows the cut.
bool BpeTokenizer::splits_at_line_cuts() const {
  const auto cuttable = [](const AddedToken& token) {
    const char first = token.content[0];
    const bool punctuation = (first >= '!' && first <= '/') || (first >= ':' && first <= '@') ||
                             (first >= '[' && first <= '`') || (first >= '{' && first <= '~');
    return token.content.find('\n') == std::string::npos && (!token.lstrip || punctuation);
  };
  const std::vector<AddedToken>& added = state_->data.added;
  return state_->pretokenizer.splits_at_line_cuts() && std::all_of(added.begin(), added.end(), cuttable);
}

std::string BpeTokenizer::decode_bytes(std::span<const int32_t> ids) const {
  std::string bytes;
  for (const int32_t id : ids) bytes += continuation(-1, id);
  return bytes;
}

std::string BpeTokenizer::decode(std::span<const int32_t> ids) const { return replace_invalid_utf8(decode_bytes(ids)); }

std::string BpeTokenizer::continuation(int32_t, int32_t id) const {
  const TokenTable& table = state_->table;
  check(id >= 0 && id < table.size(), "BpeTokenizer::decode: expected ids in [0, {}), got {}", table.size(), id);
  check(table.has(id), "BpeTokenizer::decode: no token has the id {}", id);
  return std::string(table.bytes(id));
}

int64_t BpeTokenizer::vocab_size() const { return state_->table.size(); }
int32_t BpeTokenizer::end_id() const { return state_->end; }
const BpeData& BpeTokenizer::data() const { return state_->data; }
std::string BpeTokenizer::to_json() const { return json_of(*this); }

std::optional<int32_t> BpeTokenizer::token_id(std::string_view bytes) const {
  for (const AddedToken& token : state_->data.added) {
    if (token.content == bytes) return token.id;
  }
  const int32_t id = state_->table.find(bytes);
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

}  // namespace pg
