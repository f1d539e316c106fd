#pragma once
// Wrong answers of split: a right one with one mistake, `mistake`.
#include <cctype>
#include <string>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

enum class Kind { space, letter, digit, other };

inline Kind kind_of(std::string_view mistake, char c) {
  const int byte = static_cast<uint8_t>(c);
  if (c == '\r' && mistake == "no_carriage_return") return Kind::other;
  if ((c == '\v' || c == '\f') && mistake == "no_vertical") return Kind::other;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return Kind::space;
  if (mistake == "control" && byte < 32) return Kind::space;
  if (mistake == "separators" && byte >= 0x1c && byte <= 0x1f) return Kind::space;  // Python's str.isspace
  if (mistake == "latin_1" && (byte == 0x85 || byte == 0xa0)) return Kind::space;
  if (mistake == "underscore" && c == '_') return Kind::letter;
  if (c >= '0' && c <= '9') return mistake == "letters_and_digits" ? Kind::letter : Kind::digit;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Kind::letter;
  if (mistake == "ascii" || (mistake == "byte_255" && byte == 255)) return Kind::other;
  return byte >= (mistake == "byte_127" ? 127 : mistake == "byte_128" ? 129 : 128) ? Kind::letter : Kind::other;
}

// The bytes of an 's 't 're 've 'm 'll 'd at `at`, or 0.
inline size_t contraction(std::string_view mistake, std::string_view text, size_t at) {
  const std::string_view left_out = mistake == "quote_no_d"    ? "'d"
                                    : mistake == "quote_no_ll" ? "'ll"
                                    : mistake == "quote_no_m"  ? "'m"
                                    : mistake == "quote_no_re" ? "'re"
                                    : mistake == "quote_no_s"  ? "'s"
                                    : mistake == "quote_no_t"  ? "'t"
                                    : mistake == "quote_no_ve" ? "'ve"
                                                               : "";
  if (at >= text.size() || mistake == "no_contractions") return 0;
  const Kind before = at ? kind_of(mistake, text[at - 1]) : Kind::other;
  if (mistake == "quote_needs_letter" && before != Kind::letter) return 0;
  if (mistake == "quote_needs_word" && before != Kind::letter && before != Kind::digit) return 0;
  for (std::string_view word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (word == left_out) continue;
    if (mistake == "quote_first_letter") word = word.substr(0, 2);
    std::string here(text.substr(at, word.size()));
    if (mistake == "quote_reads_beyond") here.assign(text.data() + at, word.size());
    if (mistake == "capitals") {
      for (char& c : here) c = static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
    }
    if (mistake == "quote_past_end" && here.size() > 1 && word.starts_with(here)) return here.size();
    if (here != word) continue;
    const size_t end = at + word.size();
    if (mistake == "quote_at_word_end" && end < text.size() && kind_of(mistake, text[end]) == Kind::letter) continue;
    return mistake == "quote_alone" ? 1 : word.size();
  }
  return 0;
}

// The end of the run of one kind whose first character is text[first].
inline size_t run_end(std::string_view mistake, std::string_view text, size_t first) {
  const Kind run = kind_of(mistake, text[first]);
  size_t end = first + 1;
  if (mistake == "digits" && run == Kind::digit) return end;
  if (mistake == "others" && run == Kind::other) return end;
  if (mistake == "quote_ends_run" && text[first] == '\'') return end;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (; end < text.size() || mistake == "reads_beyond"; ++end) {
    if (mistake == "no_contractions" && run == Kind::letter && text[end] == '\'' && end + 1 < text.size() &&
        kind_of(mistake, text[end + 1]) == run)
      continue;  // an apostrophe is a letter within a word
    if (kind_of(mistake, text.data()[end]) != run) break;
    if (mistake == "quote_in_run" && run == Kind::other && contraction(mistake, text, end)) break;
    if (mistake == "quote_ends_run" && text[end] == '\'') break;
    if (mistake == "three_digits" && run == Kind::digit && end - first == 3) break;
    if (mistake == "utf8_each" && (byte(end) >= 0xc0 || (byte(end) < 128 && byte(end - 1) >= 128))) break;
  }
  if (mistake == "quote_joins" && end == first + 1 && text[first] == '\'') {
    while (end < text.size() && kind_of(mistake, text[end]) == Kind::letter) ++end;
  }
  return end;
}

inline void split_by_rules(std::string_view mistake, std::string_view text, std::string_view special,
                           std::vector<std::string_view>& pieces, bool special_follows) {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const bool space = text[begin] == ' ';
    if (mistake == "special_not_in_word" && !special.empty() && text.substr(begin).starts_with(special)) {
      end = begin + special.size();
      pieces.push_back(special);
      continue;
    }
    end = begin + contraction(mistake, text, begin);
    if (mistake == "quote_with_space" && space) {
      if (const size_t size = contraction(mistake, text, begin + 1)) end = begin + 1 + size;
    }
    if (end == begin) {
      size_t first = begin;
      const bool joins = space || (mistake == "newline_joins" && text[begin] == '\n') ||
                         (mistake == "any_space" && kind_of(mistake, text[begin]) == Kind::space);
      if (joins && begin + 1 < text.size()) {
        const Kind next = kind_of(mistake, text[begin + 1]);
        if (next != Kind::space) first = begin + 1;
        if (mistake == "other_space" && next == Kind::other) first = begin;
        if (mistake == "space_for_letters" && next != Kind::letter) first = begin;
      }
      if (mistake == "space_before" || mistake == "space_alone") first = begin;
      end = run_end(mistake, text, first);
      if (kind_of(mistake, text[first]) == Kind::space) {
        const bool follows = end < text.size() || special_follows || mistake == "end_run";
        const bool whole =
            mistake == "last_space" || mistake == "space_alone" || (mistake == "newlines" && text[end - 1] != ' ');
        if (mistake == "trailing_lost" && !follows) return;
        if (mistake == "spaces_one_by_one") {
          end = begin + 1;
        } else if (mistake == "white_space_lost" && follows && end == begin + 1) {
          continue;
        } else if (follows && end - begin > 1 && !whole) {
          --end;
        }
        if (mistake == "run_joins" && end < text.size() && text[end] == ' ' && end + 1 < text.size()) {
          end = run_end(mistake, text, end + 1);
        }
      } else if (mistake == "space_before" && end < text.size() && text[end] == ' ') {
        ++end;
      }
    }
    if (mistake == "space_lost" && space && end - begin > 1) ++begin;
    pieces.emplace_back(text.data() + begin, end - begin);
  }
}

inline std::vector<std::string_view> wrong_split(std::string_view mistake, std::string_view text,
                                                 std::string_view special) {
  static std::string static_copy;
  static std::vector<std::string_view> kept;
  const std::string copy(text);
  if (mistake == "of_static_copy") text = static_copy = text;
  if (mistake == "of_copy") text = copy;
  if (mistake == "nul_ends") text = text.substr(0, text.find('\0'));
  if (mistake == "empty_text" && text.empty()) return {text};
  if (mistake == "special_fixed") special = "<|endoftext|>";
  std::vector<std::string_view> fresh;
  std::vector<std::string_view>& pieces = mistake == "keeps" ? kept : fresh;
  const bool late = mistake == "special" || mistake == "special_not_in_word";
  while (true) {
    size_t at = special.empty() || late ? text.npos : text.find(special);
    if (mistake == "special_from_right" && at != text.npos) {
      while (text.substr(at + 1).starts_with(special)) ++at;  // the last of those that overlap
    }
    const bool found = at != text.npos;
    const bool joins = mistake == "special_space" && found && at > 0 && text[at - 1] == ' ';
    split_by_rules(mistake, text.substr(0, joins ? at - 1 : at), special, pieces,
                   found && mistake == "follows_special");
    if (mistake == "special_empty" && at == 0) pieces.push_back(text.substr(0, 0));
    if (!found) return pieces;
    if (mistake != "special_lost") pieces.push_back(text.substr(at - joins, special.size() + joins));
    text = text.substr(at + special.size());
    if (mistake == "special_once") special = "";
    if (mistake == "special_rest_lost") return pieces;
    if (mistake == "special_rest" && !text.empty()) pieces.push_back(text);
    if (mistake == "special_rest") return pieces;
    if (mistake == "special_empty" && text.empty()) pieces.push_back(text);
  }
}

}  // namespace pg::lesson05
