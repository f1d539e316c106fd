// Encodes texts part by part into a token file.
#include "tools/pg/train/token_pack.h"

#include <algorithm>
#include <cstring>

#include "tasks/bpe/bpe_merge.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/bpe/piece_counts.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/files/mapped_file.h"

namespace pg::tools {
namespace {

struct Part {
  std::string text;
  size_t bytes = 0;  // in the file, with the separator
  bool ends_text = false;
};

// The parts of a file, one after the other.
class PartReader {
 public:
  PartReader(std::string_view rest, const PackOptions& options, bool cuts)
      : rest_(rest), options_(options), cuts_(cuts) {}

  bool done() const { return rest_.empty(); }
  // `note` becomes that of unix_text if it changed the part.
  Part next(const std::string& path, std::string& note) {
    const std::string& separator = options_.separator;
    if (!in_text_) {
      text_end_ = separator.empty() ? rest_.size() : std::min(rest_.find(separator), rest_.size());
      in_text_ = true;
    }
    const std::string_view text = rest_.substr(0, text_end_);
    const bool cut = cuts_ && text.size() > options_.part_bytes;
    const size_t size = cut ? line_cut(text, options_.part_bytes, scratch_, LineEnds::lf_or_crlf) : text.size();
    Part part = {.text = unix_text(std::string(text.substr(0, size)), path, note),
                 .bytes = size,
                 .ends_text = size == text_end_};
    if (part.ends_text) {
      // With lines as texts, the line feed of a CRLF is the separator.
      if (separator == "\n" && part.text.ends_with('\r')) part.text.pop_back();
      part.bytes = std::min(rest_.size(), size + separator.size());
      in_text_ = false;
    }
    text_end_ -= size;
    rest_.remove_prefix(part.bytes);
    return part;
  }

 private:
  std::string_view rest_;
  const PackOptions& options_;
  bool cuts_;
  RegexScratch scratch_;
  bool in_text_ = false;
  size_t text_end_ = 0;  // in rest_
};

std::vector<std::vector<int32_t>> encode(const Tokenizer& tokenizer, const std::vector<Part>& parts,
                                         const PackOptions& options) {
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer)) {
    std::vector<std::string_view> views;
    for (const Part& part : parts) views.emplace_back(part.text);
    return bpe->encode_batch(views, {.surround = false, .special_tokens = options.special_tokens});
  }
  std::vector<std::vector<int32_t>> ids;
  for (const Part& part : parts) ids.push_back(tokenizer.encode(part.text));
  return ids;
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, const TokenTexts& texts, int32_t end_id)
    : file_(path), texts_(texts) {
  header_.vocab_size = std::ssize(texts.bytes);
  header_.width = header_.vocab_size <= 65536 ? 2 : 4;
  header_.end_id = end_id;
  header_.vocabulary = texts.sha256;
  const std::string begin = header_.to_bytes();
  file_.write(begin.data(), begin.size());
}

void TokenFileWriter::add(std::span<const int32_t> ids) {
  const auto width = static_cast<size_t>(header_.width);
  encoded_.resize(ids.size() * width);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t id = ids[i];
    check(id >= 0 && id < header_.vocab_size, "token file: expected ids in [0, {}), got {}", header_.vocab_size, id);
    if (id != header_.end_id) header_.bytes += texts_.bytes[static_cast<size_t>(id)];
    header_.hash = hash_with(header_.hash, id);
    std::memcpy(encoded_.data() + i * width, &id, width);  // the low bytes come first
  }
  file_.write(encoded_.data(), encoded_.size());
  header_.tokens += std::ssize(ids);
}

void TokenFileWriter::end_text() {
  ++header_.texts;
  if (header_.end_id < 0) return;
  const auto id = static_cast<int32_t>(header_.end_id);
  add({&id, 1});
}

void TokenFileWriter::commit() {
  const std::string begin = header_.to_bytes();
  file_.rewrite(0, begin.data(), begin.size());
  file_.commit();
}

PackResult pack_tokens(const std::string& out, const Tokenizer& tokenizer, const PackOptions& o) {
  constexpr size_t group_bytes = 1 << 24, group_parts = 1 << 16;
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  const bool cuts = bpe && bpe->splits_at_line_cuts();
  int64_t all = 0, done = 0;
  for (const std::string& path : o.paths) all += std::ssize(MappedFile(path).bytes());
  const TokenTexts texts(tokenizer);
  TokenFileWriter writer(out, texts, o.end_texts ? tokenizer.end_id() : -1);
  PackResult result;
  for (const std::string& path : o.paths) {
    const MappedFile file(path);
    PartReader reader({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, o, cuts);
    bool changed = false, in_text = false;
    while (!reader.done()) {
      file.check_size();
      std::vector<Part> parts;
      size_t bytes = 0;
      while (!reader.done() && bytes < group_bytes && parts.size() < group_parts) {
        std::string note;
        parts.push_back(reader.next(path, note));
        bytes += parts.back().bytes;
        changed = changed || !note.empty();
      }
      const auto ids = encode(tokenizer, parts, o);
      for (size_t i = 0; i < parts.size(); ++i) {
        writer.add(ids[i]);
        in_text = in_text || !parts[i].text.empty();
        if (!parts[i].ends_text) continue;
        if (in_text) writer.end_text();
        in_text = false;
      }
      done += static_cast<int64_t>(bytes);
      if (o.progress) o.progress(done, all, writer.header().tokens);
    }
    if (changed) {
      result.notes.push_back(
          fmt::format("{}: line ends of Windows (CRLF) are read as LF, and a byte order mark is left out.", path));
    }
  }
  check(writer.header().texts > 0, "token file: expected a text, the files are empty");
  writer.commit();
  result.header = writer.header();
  return result;
}

}  // namespace pg::tools
