// Words in answers: texts, names, numbers in words, and words that count.
#include <algorithm>
#include <limits>

#include "tasks/grade/parser.h"
#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

// A word of a phrase; `upright`: of \text{…}.
struct PhraseWord {
  std::string text;
  bool upright;
};

bool is_capital(const std::string& text) { return text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z'; }

Node product_of(const std::string& letters) {
  std::vector<Node> factors;
  for (const char c : letters) factors.push_back(letter_of(c));
  return make(Kind::product, std::move(factors));
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  return text.substr(0, text.find_first_of(" -"));
}

// "a dozen"
bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "A" || word == "An"; }

// Whether the words of a phrase are a text, instead of a product, a number in words or a value with a unit.
bool is_text(const std::vector<PhraseWord>& words) {
  const PhraseWord& first = words[0];
  if (words.size() == 1) return first.upright || first.text.size() > 1;
  if (std::any_of(words.begin(), words.end(), [](const PhraseWord& w) { return w.text == "U"; })) return false;
  if (std::all_of(words.begin(), words.end(), [](const PhraseWord& w) { return is_capital(w.text); })) return true;
  if (first.upright) return true;
  if (first.text.size() == 1) return false;
  const bool may_be_value = first.text.size() <= 3 && !is_plain_word(first.text);
  return !may_be_value || !(words[1].upright || is_unit_word(words[1].text));
}

}  // namespace

bool Parser::at_element_end() const {
  switch (token_.kind) {
    case Token::Kind::end:
      return true;
    case Token::Kind::symbol:
      return std::string_view(",;)]}&").find(token_.value[0]) != std::string_view::npos || !relation().empty();
    default:
      return at_separator() || !relation().empty() || token_.command("}") || token_.command("\\") ||
             token_.command("end") || token_.command("rangle");
  }
}

// Whether a word begins a value in words or mathematics: "sin", "pi", "five", "half".
bool Parser::begins_value(std::string_view word) const {
  if (is_function(word) || word == "sqrt" || word == "pi" || word == "infinity" || word == "inf" || word == "half") {
    return true;
  }
  for (const std::string_view name : kGluedFunctions) {
    if (word.size() == name.size() + 1 && word.starts_with(name)) return true;
  }
  return number_word(word).has_value();
}

// A text that is a whole element of the answer: "even", \text{cat}, "New York". Nothing, and no token is taken, if
// there is none.
std::optional<Node> Parser::text_element() {
  const Token first = token_;
  if (first.command("ldots") || first.command("dots") || first.command("cdots")) {
    advance();
    return make_name(Kind::text, "...");
  }
  std::vector<PhraseWord> words;
  while ((token_.kind == Token::Kind::word || token_.kind == Token::Kind::text) && !at_separator()) {
    const bool upright = token_.kind == Token::Kind::text;
    words.push_back({upright ? inner(token_) : token_.value, upright});
    advance();
  }
  const auto give_up = [&] {
    back_to(first);
    return std::nullopt;
  };
  if (words.empty() || !at_element_end()) return give_up();
  const auto& [word, upright] = words[0];
  if (upright && word.size() > 1 && word.find('\\') == std::string::npos && value_in_text(word)) {
    if (words.size() > 1) return give_up();
    return parse_answer(word, word, work_);
  }
  if (!is_text(words) || (!upright && begins_value(word)) || (upright && words.size() == 1 && word.size() == 1)) {
    return give_up();
  }
  Node text = make_name(Kind::text, "");
  for (const PhraseWord& part : words) text.name += (text.name.empty() ? "" : " ") + part.text;
  if (words.size() == 1 && !upright && word.size() <= 3 && !is_plain_word(word)) {
    text.children.push_back(product_of(word));
  }
  return text;
}

// Whether the content of \text{…} begins with a number, is a constant or lists texts.
bool Parser::value_in_text(std::string_view content) const {
  const std::string_view first = first_word(content);
  if (content[0] >= '0' && content[0] <= '9') return true;
  if (content.find(" and ") != std::string_view::npos || content.find(" or ") != std::string_view::npos) return true;
  if (number_word(first) || content == "half" || content == "pi" || content == "infinity") return true;
  return is_article(first) && counting_word(first_word(content.substr(content.find(first) + first.size())));
}

Node Parser::text_name() {
  Node node = make_name(Kind::variable, inner(token_));
  check(!node.name.empty() &&
            node.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ") == std::string::npos,
        "a text at byte {} is no name", token_.begin);
  advance();
  check(node.name.size() == 1 || !relation().empty(), "a text stands for a value before byte {}", token_.begin);
  return node;
}

// Takes a word, or the first word of a \text{…}, if it is one of these.
bool Parser::take_word(std::initializer_list<std::string_view> names) {
  const std::string word(token_.kind == Token::Kind::text ? first_word(token_.value) : token_.value);
  if (token_.kind != Token::Kind::word && token_.kind != Token::Kind::text) return false;
  if (std::find(names.begin(), names.end(), word) == names.end()) return false;
  take_first_word(word.size());
  return true;
}

std::optional<mpq_class> Parser::take_counting_word() {
  if (token_.kind != Token::Kind::word && token_.kind != Token::Kind::text) return {};
  const std::string word(token_.kind == Token::Kind::text ? first_word(token_.value) : token_.value);
  const auto factor = counting_word(word);
  if (!factor) return {};
  take_first_word(word.size());
  counted_until_ = token_.begin;
  return factor;
}

void Parser::take_first_word(size_t size) {
  if (token_.kind == Token::Kind::text) {
    const std::string rest(trimmed(trimmed(token_.value).substr(size)));
    if (!rest.empty()) {
      token_.value = rest;
      return;
    }
  }
  advance();
}

// The letters behind a hyphen at this token that has no spaces around it; empty if there is none.
std::string_view Parser::hyphened_word() const {
  if (!token_.symbol('-') || token_.space_before) return {};
  size_t end = token_.end;
  while (end < text_.size() && is_letter(text_[end])) ++end;
  return text_.substr(token_.end, end - token_.end);
}

// English words of a whole number: "twenty-one", "two hundred and five", "three thousand". The article of "a dozen" is
// 1, and "half" alone is 1/2.
Node Parser::number_in_words() {
  if (is_article(token_.value)) {
    advance();
    return make_number(1);
  }
  if (token_.word("half")) {
    advance();
    return make_number(mpq_class(1, 2));
  }
  mpz_class total = 0;
  int64_t group = 0, last_scale = std::numeric_limits<int64_t>::max();
  bool begun = false;
  const auto fits = [&](int64_t value) {
    const int64_t rest = group % 100;
    if (!begun) return true;
    return value > 0 && (total > 0 || group > 0) && (rest == 0 || (rest >= 20 && rest % 10 == 0 && value < 10));
  };
  for (;; begun = true) {
    const Token before = token_;
    if (begun && token_.word("and") && (group % 100 == 0)) {
      advance();
      if (!number_word(token_.value) || token_.kind != Token::Kind::word || !fits(*number_word(token_.value))) {
        back_to(before);
        break;
      }
    } else if (const auto behind = number_word(hyphened_word()); behind && group % 100 >= 20 && fits(*behind)) {
      advance();
    } else if (counting_word(hyphened_word())) {  // "two-thirds"
      advance();
      break;
    }
    if (token_.kind != Token::Kind::word) break;
    const auto value = number_word(token_.value);
    const int64_t scale = scale_of(lower(token_.value));
    if (value && fits(*value)) {
      group += *value;
    } else if (scale == 100 && group > 0 && group < 100) {
      group *= 100;
    } else if (scale > 100 && scale < last_scale && group > 0) {
      total += mpz_class(group) * scale;
      group = 0;
      last_scale = scale;
    } else {
      break;
    }
    advance();
  }
  check(scale_of(lower(token_.value)) == 0, "an unexpected '{}' at byte {}", token_.value, token_.begin);
  return make_number(mpq_class(total + group));
}

}  // namespace pg::grading
