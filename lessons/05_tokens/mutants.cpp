// Wrong answers to lesson 5. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include <algorithm>

#include "lessons/05_tokens/answers.h"

namespace pg::lesson05 {
namespace {

using Ids = std::vector<int32_t>;

enum class Count { once, apart, across, last, first, by_right, left_only, short_keys, small };
template <Count mistake>
PairCount wrong_best_pair(const std::vector<Word>& words) {
  std::map<std::pair<int32_t, int32_t>, int64_t> counts;
  std::vector<std::pair<int32_t, int32_t>> seen;
  const auto add = [&](int32_t left, int32_t right, int64_t count) {
    if (mistake == Count::small) count = static_cast<int32_t>(count);
    std::pair<int32_t, int32_t> key{left, right};
    if (mistake == Count::short_keys) {
      const uint32_t packed = static_cast<uint32_t>(left) * 65536u + static_cast<uint32_t>(right);
      key = {static_cast<int32_t>(packed >> 16), static_cast<int32_t>(packed & 65535u)};
    }
    if (!counts.contains(key)) seen.push_back(key);
    counts[key] += mistake == Count::once ? 1 : count;
  };
  int32_t before = -1;
  for (const Word& word : words) {
    if (mistake == Count::across && before >= 0 && !word.ids.empty()) add(before, word.ids[0], word.count);
    if (!word.ids.empty()) before = word.ids.back();
    for (size_t i = 0; i + 1 < word.ids.size(); ++i) {
      add(word.ids[i], word.ids[i + 1], word.count);
      const bool triple = i + 2 < word.ids.size() && word.ids[i] == word.ids[i + 1] && word.ids[i] == word.ids[i + 2];
      if (mistake == Count::apart && triple) ++i;
    }
  }
  if (mistake == Count::by_right) {
    std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  } else if (mistake == Count::left_only) {
    std::stable_sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  } else if (mistake != Count::first) {
    std::sort(seen.begin(), seen.end());
  }
  PairCount best;
  for (const auto& pair : seen) {
    const int64_t count = counts[pair];
    if (count > best.count || (mistake == Count::last && count == best.count)) best = {pair.first, pair.second, count};
  }
  return best;
}

enum class Merge { first_only, keeps_right, misses_end, loses_end, either_order, from_right, overlaps };
template <Merge mistake>
Ids wrong_merge_pair(const Ids& ids, int32_t left, int32_t right, int32_t id) {
  if (mistake == Merge::from_right) {
    Ids merged = merge_pair(Ids(ids.rbegin(), ids.rend()), right, left, id);
    std::reverse(merged.begin(), merged.end());
    return merged;
  }
  Ids merged;
  bool done = false;
  for (size_t i = 0; i < ids.size() && !(mistake == Merge::loses_end && i + 1 == ids.size()); ++i) {
    const bool last = i + 1 >= ids.size(), end = i + 2 >= ids.size();
    bool here = !last && ids[i] == left && ids[i + 1] == right;
    if (mistake == Merge::either_order) here = here || (!last && ids[i] == right && ids[i + 1] == left);
    if (mistake == Merge::misses_end && end) here = false;
    if (mistake == Merge::first_only && done) here = false;
    merged.push_back(here ? id : ids[i]);
    done = done || here;
    const bool used = mistake != Merge::keeps_right && mistake != Merge::overlaps;
    if (here && used) ++i;
    // The right one may begin the next pair; if it does not, it is used up.
    const bool again = i + 2 < ids.size() && ids[i + 1] == left && ids[i + 2] == right;
    if (here && mistake == Merge::overlaps && !again) ++i;
  }
  return merged;
}

enum class Split {
  space_before,
  space_alone,
  space_lost,
  last_space,
  run_joins,
  no_contractions,
  quote_alone,
  capitals,
  words_of_both,
  digits,
  others,
  other_space,
  newlines,
  newline_joins,
  end_run,
  ascii,
  special_late,
  special_first,
  special_space
};
template <Split mistake>
std::vector<std::string_view> wrong_split(std::string_view text, std::string_view special) {
  std::vector<std::string_view> pieces;
  const size_t at = special.empty() || mistake == Split::special_late ? text.npos : text.find(special);
  if (at != text.npos) {
    const bool joins = mistake == Split::special_space && at > 0 && text[at - 1] == ' ';
    pieces = wrong_split<mistake>(text.substr(0, at - joins), special);
    pieces.push_back(text.substr(at - joins, special.size() + joins));
    const std::string_view then = mistake == Split::special_first ? "" : special;
    for (const auto piece : wrong_split<mistake>(text.substr(at + special.size()), then)) pieces.push_back(piece);
    return pieces;
  }
  const auto kind = [&](size_t i) -> char {
    if (i >= text.size()) return 0;
    const auto c = static_cast<uint8_t>(text[i]);
    if (c >= 128) return mistake == Split::ascii ? 'o' : 'l';
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 'l';
    if (c >= '0' && c <= '9') return mistake == Split::words_of_both ? 'l' : 'd';
    return c == ' ' || (c >= '\t' && c <= '\r') ? 'w' : 'o';
  };
  const auto contraction = [&](size_t i) -> size_t {
    if (mistake == Split::no_contractions) {  // an apostrophe is a letter within a word
      return 0;
    }
    for (const std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T"}) {
      if (mistake != Split::capitals && end[1] < 'a') continue;
      if (text.substr(i).starts_with(end)) return mistake == Split::quote_alone ? 1 : end.size();
    }
    return 0;
  };
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = begin + contraction(begin);
    if (end == begin) {
      const bool joins = text[begin] == ' ' || (mistake == Split::newline_joins && text[begin] == '\n');
      size_t first = joins && kind(begin + 1) != 'w' && kind(begin + 1) != 0 ? begin + 1 : begin;
      if (mistake == Split::space_before || mistake == Split::space_alone) first = begin;
      if (mistake == Split::other_space && kind(first) == 'o') first = begin;
      const char run = kind(first);
      const bool single = (mistake == Split::digits && run == 'd') || (mistake == Split::others && run == 'o');
      for (end = first + 1;
           !single && (kind(end) == run || (mistake == Split::no_contractions && run == 'l' && kind(end) == 'o' &&
                                            text[end] == '\'' && kind(end + 1) == 'l'));) {
        ++end;
      }
      if (mistake == Split::space_before && run != 'w' && kind(end) == 'w' && text[end] == ' ') ++end;
      const bool whole = mistake == Split::last_space || mistake == Split::space_alone ||
                         (mistake == Split::newlines && text[end - 1] != ' ');
      const bool followed = end < text.size() || mistake == Split::end_run;
      if (run == 'w' && followed && end - begin > 1 && !whole) --end;
      if (mistake == Split::run_joins && run == 'w' && end < text.size() && text[end] == ' ') {
        for (end += 1, first = end; kind(end) == kind(first) && kind(end) != 0;) ++end;
      }
    }
    if (mistake == Split::space_lost && text[begin] == ' ' && end - begin > 1) ++begin;
    pieces.push_back(text.substr(begin, end - begin));
  }
  return pieces;
}

enum class Encode { leftmost, longest, highest, rightmost, once, pass, never, code_points, replaced, skipped, values };
template <Encode mistake>
Ids wrong_encode_piece(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  Ids ids;
  const auto id_of = [&](int byte) { return mistake == Encode::values ? byte : byte_ids[static_cast<size_t>(byte)]; };
  for (size_t i = 0; i < piece.size(); ++i) {
    const int byte = static_cast<uint8_t>(piece[i]);
    const bool two = byte >= 0xc2 && byte < 0xe0 && i + 1 < piece.size();
    if (mistake == Encode::code_points && two) {
      ids.push_back(id_of(((byte & 3) << 6) | (static_cast<uint8_t>(piece[++i]) & 63)));
    } else if (mistake == Encode::replaced && byte >= 0xf8) {
      for (const int part : {0xef, 0xbf, 0xbd}) ids.push_back(id_of(part));
    } else if (mistake != Encode::skipped || byte < 0xf8) {
      ids.push_back(id_of(byte));
    }
  }
  if (mistake == Encode::never) return ids;
  if (mistake == Encode::longest) {  // at each place the longest run of symbols that becomes one token
    Ids tokens;
    for (size_t begin = 0; begin < ids.size();) {
      size_t length = ids.size() - begin;
      Ids token;
      for (; length > 0; --length) {
        token = Ids(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                    ids.begin() + static_cast<std::ptrdiff_t>(begin + length));
        MergeTable::Scratch scratch;
        merges.apply(token, scratch);
        if (token.size() == 1) break;
      }
      tokens.push_back(token[0]);
      begin += length;
    }
    return tokens;
  }
  if (mistake == Encode::pass) {
    Ids tokens;
    for (size_t i = 0; i < ids.size(); ++i) {
      const MergeTable::Merge merge = i + 1 < ids.size() ? merges.find(ids[i], ids[i + 1]) : MergeTable::Merge{};
      tokens.push_back(merge.id >= 0 ? merge.id : ids[i]);
      i += merge.id >= 0;
    }
    return tokens;
  }
  for (;;) {
    MergeTable::Merge best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const MergeTable::Merge merge = merges.find(ids[i], ids[i + 1]);
      if (merge.id < 0) continue;
      const bool better = best.id < 0                    ? true
                          : mistake == Encode::leftmost  ? false
                          : mistake == Encode::highest   ? merge.rank > best.rank
                          : mistake == Encode::rightmost ? merge.rank <= best.rank
                                                         : merge.rank < best.rank;
      if (better) {
        best = merge;
        at = i;
      }
    }
    if (best.id < 0) return ids;
    ids[at] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    if (mistake == Encode::once) return ids;
  }
}

enum class Load { untransposed, square, reshaped, embeddings, no_prefix, permuted, by_head, handle };
template <Load mistake>
void wrong_load_weights(Transformer& model, const TensorSource& source) {
  const std::string prefix = mistake != Load::no_prefix && source.find("transformer.wte.weight") ? "transformer." : "";
  for (auto& [name, parameter] : named_parameters(model)) {
    const Tensor stored = source.read(prefix + name, f32);
    const bool square = stored.rank() == 2 && stored.size(0) == stored.size(1);
    bool linear = name.starts_with("h.") && stored.rank() == 2;
    if (mistake == Load::embeddings) linear = stored.rank() == 2;
    if (mistake == Load::untransposed || (mistake == Load::square && square)) linear = false;
    Tensor value = linear ? transpose(stored) : stored;
    if (mistake == Load::reshaped && linear) value = reshape(stored, parameter.shape());
    if (name.ends_with("c_attn.weight") && mistake == Load::permuted) {
      const int64_t c = value.size(1);
      value = cat({slice(value, 0, c, 2 * c), slice(value, 0, 0, c), slice(value, 0, 2 * c, 3 * c)}, 0);
    }
    if (name.ends_with("c_attn.weight") && mistake == Load::by_head) {
      const int64_t c = value.size(1), heads = model.config.n_head;
      value = reshape(permute(reshape(value, {3, heads, c / heads, c}), {1, 0, 2, 3}), {3 * c, c});
    }
    if (mistake == Load::handle) {
      Tensor own = parameter;
      own = value;
    } else {
      parameter.copy_from(value);
    }
  }
}

enum class Bits { per_token, per_token_nats, nats, inverse, of_ratios, characters, vocabulary };
template <Bits mistake>
double wrong_bits_per_byte(const std::vector<double>& nats, const Ids& ids, const std::vector<std::string>& tokens) {
  double sum = 0, bytes = 0, ratios = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& token = tokens[static_cast<size_t>(ids[i])];
    const auto later = [](char c) { return (c & 0xc0) == 0x80; };  // a byte of UTF-8 within a character
    const auto within = mistake == Bits::characters ? std::count_if(token.begin(), token.end(), later) : 0;
    const double size = static_cast<double>(std::ssize(token) - within);
    sum += nats[i];
    bytes += size;
    ratios += nats[i] / size;
  }
  const double count = static_cast<double>(ids.size()), ln2 = std::log(2.0);
  if (mistake == Bits::vocabulary) {
    bytes = 0;
    for (const std::string& token : tokens) bytes += static_cast<double>(token.size());
  }
  if (mistake == Bits::per_token) return sum / ln2 / count;
  if (mistake == Bits::per_token_nats) return sum / count;
  if (mistake == Bits::nats) return sum / bytes;
  if (mistake == Bits::inverse) return sum * ln2 / bytes;
  if (mistake == Bits::of_ratios) return ratios / ln2 / count;
  return sum / ln2 / bytes;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"count_once", "05.1", "each word is counted once", [](Impl& m) { m.best_pair = wrong_best_pair<Count::once>; }},
    {"count_aaa_apart", "05.1", "1 1 1 has the pair (1, 1) twice",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::apart>; }},
    {"count_across_words", "05.1", "over the border of two words",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::across>; }},
    {"count_tie_last", "05.1", "the last one is taken", [](Impl& m) { m.best_pair = wrong_best_pair<Count::last>; }},
    {"count_tie_first_seen", "05.1", "the one that was seen first",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::first>; }},
    {"count_tie_by_right", "05.1", "compared by the right id",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::by_right>; }},
    {"count_tie_left_only", "05.1", "of equal left ids",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::left_only>; }},
    {"count_keys_of_16_bits", "05.1", "do not fit in 16 bits",
     [](Impl& m) { m.best_pair = wrong_best_pair<Count::short_keys>; }},
    {"count_in_int", "05.1", "does not fit in an int", [](Impl& m) { m.best_pair = wrong_best_pair<Count::small>; }},

    {"merge_first_only", "05.2", "only the first pair",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::first_only>; }},
    {"merge_keeps_right", "05.2", "the right half stays behind",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::keeps_right>; }},
    {"merge_misses_end", "05.2", "the pair at the end is missed",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::misses_end>; }},
    {"merge_loses_end", "05.2", "the last id is lost",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::loses_end>; }},
    {"merge_either_order", "05.2", "2 1 is another pair",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::either_order>; }},
    {"merge_from_right", "05.2", "replaced from the right",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::from_right>; }},
    {"merge_overlaps", "05.2", "an id is used twice",
     [](Impl& m) { m.merge_pair = wrong_merge_pair<Merge::overlaps>; }},

    {"split_space_before", "05.3", "the space is on the wrong side",
     [](Impl& m) { m.split = wrong_split<Split::space_before>; }},
    {"split_space_alone", "05.3", "the space is a piece of its own",
     [](Impl& m) { m.split = wrong_split<Split::space_alone>; }},
    {"split_space_lost", "05.3", "the spaces are lost", [](Impl& m) { m.split = wrong_split<Split::space_lost>; }},
    {"split_last_space", "05.3", "the last space of a run", [](Impl& m) { m.split = wrong_split<Split::last_space>; }},
    {"split_run_joins", "05.3", "only one space goes with a word",
     [](Impl& m) { m.split = wrong_split<Split::run_joins>; }},
    {"split_no_contractions", "05.3", "contractions are cut off",
     [](Impl& m) { m.split = wrong_split<Split::no_contractions>; }},
    {"split_quote_alone", "05.3", "contractions stay together",
     [](Impl& m) { m.split = wrong_split<Split::quote_alone>; }},
    {"split_capitals", "05.3", "small letters only", [](Impl& m) { m.split = wrong_split<Split::capitals>; }},
    {"split_letters_and_digits", "05.3", "letters and digits are two kinds",
     [](Impl& m) { m.split = wrong_split<Split::words_of_both>; }},
    {"split_digits", "05.3", "digits stand in one piece", [](Impl& m) { m.split = wrong_split<Split::digits>; }},
    {"split_others", "05.3", "a run of other characters", [](Impl& m) { m.split = wrong_split<Split::others>; }},
    {"split_other_space", "05.3", "take the space before them",
     [](Impl& m) { m.split = wrong_split<Split::other_space>; }},
    {"split_newlines", "05.3", "a newline too", [](Impl& m) { m.split = wrong_split<Split::newlines>; }},
    {"split_newline_joins", "05.3", "only ' ' goes with the word",
     [](Impl& m) { m.split = wrong_split<Split::newline_joins>; }},
    {"split_end_run", "05.3", "nothing follows this white space",
     [](Impl& m) { m.split = wrong_split<Split::end_run>; }},
    {"split_ascii", "05.3", "bytes from 128 on", [](Impl& m) { m.split = wrong_split<Split::ascii>; }},
    {"split_special", "05.3", "the special token is split",
     [](Impl& m) { m.split = wrong_split<Split::special_late>; }},
    {"split_special_once", "05.3", "only the first special token",
     [](Impl& m) { m.split = wrong_split<Split::special_first>; }},
    {"split_special_space", "05.3", "the space before the special token",
     [](Impl& m) { m.split = wrong_split<Split::special_space>; }},

    {"encode_once", "05.4", "one pass only", [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::once>; }},
    {"encode_one_pass", "05.4", "one pass only", [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::pass>; }},
    {"encode_never", "05.4", "nothing is merged", [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::never>; }},
    {"encode_highest", "05.4", "the highest rank",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::highest>; }},
    {"encode_leftmost", "05.4", "the leftmost merge goes first",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::leftmost>; }},
    {"encode_longest", "05.4", "the longest token goes first",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::longest>; }},
    {"encode_rightmost", "05.4", "the rightmost goes first",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::rightmost>; }},
    {"encode_code_points", "05.4", "code points in place of bytes",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::code_points>; }},
    {"encode_invalid_replaced", "05.4", "no UTF-8 is replaced",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::replaced>; }},
    {"encode_invalid_skipped", "05.4", "no UTF-8 is left out",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::skipped>; }},
    {"encode_byte_values", "05.4", "the value of a byte is not its id",
     [](Impl& m) { m.encode_piece = wrong_encode_piece<Encode::values>; }},

    {"load_untransposed", "05.5", "a shape that does not fit",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::untransposed>; }},
    {"load_square_untransposed", "05.5", "a square matrix fits either way",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::square>; }},
    {"load_reshaped", "05.5", "reshaped, not transposed",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::reshaped>; }},
    {"load_embeddings_transposed", "05.5", "a shape that does not fit",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::embeddings>; }},
    {"load_without_prefix", "05.5", "a name that is not in the file",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::no_prefix>; }},
    {"load_qkv_permuted", "05.5", "q, k and v are permuted",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::permuted>; }},
    {"load_qkv_by_head", "05.5", "alternate head by head",
     [](Impl& m) { m.load_weights = wrong_load_weights<Load::by_head>; }},
    {"load_handle", "05.5", "nothing was written", [](Impl& m) { m.load_weights = wrong_load_weights<Load::handle>; }},

    {"bits_per_token", "05.6", "this is the loss per token",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::per_token>; }},
    {"bits_loss_per_token", "05.6", "this is the loss per token, in nats",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::per_token_nats>; }},
    {"bits_in_nats", "05.6", "nats, not bits", [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::nats>; }},
    {"bits_inverse", "05.6", "multiplied by ln 2",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::inverse>; }},
    {"bits_mean_of_ratios", "05.6", "the mean of the tokens' own",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::of_ratios>; }},
    {"bits_per_character", "05.6", "characters are counted",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::characters>; }},
    {"bits_of_vocabulary", "05.6", "the bytes of the vocabulary",
     [](Impl& m) { m.bits_per_byte = wrong_bits_per_byte<Bits::vocabulary>; }},
};

}  // namespace pg::lesson05
