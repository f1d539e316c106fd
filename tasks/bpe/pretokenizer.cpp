// Pre-tokenizers: the types of components, and splitting.
#include "tasks/bpe/pretokenizer.h"

#include <algorithm>
#include <iterator>

#include "tasks/bpe/split_regexes.h"
#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// What the components of a pre-tokenizer amount to.
struct Steps {
  std::vector<SplitStep> steps;
  bool byte_level = false;  // the last component was a ByteLevel
  bool adds_space = false;
};

bool flag_of(const Json& component, const char* name, bool otherwise) {
  if (!component.contains(name)) return otherwise;
  check(component[name].is_boolean(), "tokenizer: {} of the pre-tokenizer {} must be true or false", name,
        component["type"].text());
  return component[name].get<bool>();
}

void add_component(Steps& steps, const Json& component);

void add_split(Steps& steps, const Json& split) {
  const Json &pattern = split["pattern"], &behavior = split["behavior"];
  const bool invert = flag_of(split, "invert", false);
  const char* kind = pattern.contains("Regex") ? "Regex" : "String";
  check(pattern[kind].is_string(),
        "tokenizer: the pre-tokenizer Split needs a pattern {{\"Regex\": …}} or {{\"String\": …}}");
  const std::string& text = pattern[kind].text();
  check(!text.empty(), "tokenizer: the pattern of the pre-tokenizer Split is empty");
  const std::string regex = std::string_view(kind) == "Regex" ? text : regex_of_text(text);
  // Isolated keeps what matches and what does not, so that `invert` changes nothing.
  const bool isolated = behavior == "Isolated", removed = behavior == "Removed" && invert;
  check(isolated || removed,
        "tokenizer: the behavior {} (invert: {}) of the pre-tokenizer Split is not supported; supported are: "
        "\"Isolated\", and \"Removed\" with invert true",
        excerpt(behavior.dump(), 40), invert);
  steps.steps.push_back({Regex(regex), removed});
}

void add_digits(Steps& steps, const Json& digits) {
  steps.steps.push_back({Regex(flag_of(digits, "individual_digits", false) ? kDigitRegex : kDigitsRegex)});
}

void add_byte_level(Steps& steps, const Json& byte_level) {
  const bool adds_space = flag_of(byte_level, "add_prefix_space", true);
  check(!adds_space || steps.steps.empty(),
        "tokenizer: a ByteLevel with add_prefix_space after another pre-tokenizer is not supported");
  steps.adds_space = adds_space;
  if (flag_of(byte_level, "use_regex", true)) steps.steps.push_back({Regex(kGpt2Regex)});
  steps.byte_level = true;
}

void add_sequence(Steps& steps, const Json& sequence) {
  const Json& parts = sequence["pretokenizers"];
  check(parts.is_array(), "tokenizer: the pre-tokenizer Sequence needs a list \"pretokenizers\"");
  for (const Json& part : parts) add_component(steps, part);
}

struct ComponentType {
  const char* name;
  void (*add)(Steps&, const Json&);
};
const std::vector<ComponentType>& component_types() {
  static const std::vector<ComponentType> types = {
      {"Split", add_split}, {"ByteLevel", add_byte_level}, {"Digits", add_digits}, {"Sequence", add_sequence}};
  return types;
}

void add_component(Steps& steps, const Json& component) {
  check(component["type"].is_string(), "tokenizer: expected a pre-tokenizer with a \"type\"");
  const std::string& type = component["type"].text();
  const ComponentType& row = find_row(component_types(), "tokenizer: type of a pre-tokenizer", type);
  check(!steps.byte_level, "tokenizer: the pre-tokenizer {} after a ByteLevel is not supported", type);
  constexpr size_t most = 64;
  check(steps.steps.size() < most, "tokenizer: more than {} pre-tokenizers are not supported", most);
  row.add(steps, component);
}

// The pieces of `text`, valid UTF-8, from the steps [step, end).
struct Splitter {
  const std::vector<SplitStep>& steps;
  RegexScratch& scratch;
  Pretokenizer::PieceFn piece;
  void* context;

  void run(std::string_view text, size_t step) const {
    if (text.empty()) return;
    if (step == steps.size()) return piece(context, text);
    const SplitStep& split = steps[step];
    size_t done = 0;
    while (done < text.size()) {
      const Regex::Match match = split.regex.find(text, done, scratch);
      if (!split.removed) run(text.substr(done, match.begin - done), step + 1);
      run(text.substr(match.begin, match.end - match.begin), step + 1);
      done = match.end;
    }
  }
};

std::string sequence(const std::vector<std::string>& regexes) {
  Json parts = Json::array();
  for (const std::string& regex : regexes) {
    parts.push_back({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}});
  return sorted_by_key({{"type", "Sequence"}, {"pretokenizers", std::move(parts)}}).dump();
}

std::vector<SplitPattern> known_patterns() {
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const Json smollm = {{"type", "Sequence"}, {"pretokenizers", {digits, byte_level}}};
  return {
      {"gpt2", "gpt-2", "GPT-2: words and numbers with the space before them", sorted_by_key(byte_level).dump(),
       "null"},
      {"llama3", "llama-bpe", "Llama 3: at most three digits", sequence({kLlama3Regex}), "null"},
      {"qwen2", "qwen2", "Qwen 2, 2.5 and 3: single digits, NFC", sequence({kQwen2Regex}), R"({"type":"NFC"})"},
      {"smollm", "smollm", "SmolLM2: single digits, then as GPT-2", sorted_by_key(smollm).dump(), "null"},
      {"cl100k", "", "GPT-4: as Llama 3, with the white space at the end of a text in one piece",
       sequence({kCl100kRegex}), "null"},
      {"o200k", "", "GPT-4o: words by upper and lower case", sequence({kO200kRegex}), "null"},
      {"default", "default", "what llama.cpp does for a model that it does not know",
       sequence({kDefaultRegexes[0], kDefaultRegexes[1], kDefaultRegexes[2], kDefaultRegexes[3]}), "null"},
  };
}

}  // namespace

Pretokenizer::Pretokenizer(std::string_view json) {
  const Json parsed = sorted_by_key(Json::try_parse(json));
  json_ = parsed.dump();
  Steps steps;
  add_component(steps, parsed);
  check(steps.byte_level, "tokenizer: expected a byte-level pre-tokenizer, one that ends with a ByteLevel; got {}",
        excerpt(json_));
  steps_ = std::move(steps.steps);
  adds_space_ = steps.adds_space;
}

void Pretokenizer::split(std::string_view text, RegexScratch& scratch, PieceFn piece, void* context) const {
  const Splitter splitter{steps_, scratch, piece, context};
  while (!text.empty()) {
    const size_t good = valid_prefix(text);
    splitter.run(text.substr(0, good), 0);
    text.remove_prefix(good);
    size_t bad = 0;
    while (bad < text.size()) {
      const Utf8Unit unit = first_unit(text.substr(bad));
      if (unit.kind == Utf8Unit::character) break;
      bad += unit.bytes;
    }
    if (bad > 0) piece(context, text.substr(0, bad));
    text.remove_prefix(bad);
  }
}

// At a line_cut there is a character X that is no white space, then \n, the cut, and a letter or digit L.
// The first list: an alternative for letters or digits matches at L, whatever precedes it, because no alternative that
// begins before the cut has \n and then a letter or digit. The \n before the cut is a piece of its own or the end of
// the piece of X, in the whole (by \s+, \s*[\r\n]+ or [\r\n]*) as in the part that ends with it. The second list: no
// match has a \n, and a match depends on no character beside it. Such a step leaves the text around the cut to the
// steps after it, or splits it right there.
bool Pretokenizer::splits_at_line_cuts() const {
  constexpr const char* cutting[] = {kGpt2Regex,   kLlama3Regex, kQwen2Regex,
                                     kCl100kRegex, kO200kRegex,  kDefaultRegexes[1]};
  constexpr const char* within[] = {kDefaultRegexes[0], kDefaultRegexes[2], kDefaultRegexes[3], kDigitRegex};
  const auto is_among = [](const auto& list, const SplitStep& step) {
    return !step.removed &&
           std::any_of(std::begin(list), std::end(list), [&](const char* p) { return step.regex.pattern() == p; });
  };
  return !adds_space_ && std::all_of(steps_.begin(), steps_.end(), [&](const SplitStep& s) {
    return is_among(cutting, s) || is_among(within, s);
  }) && std::any_of(steps_.begin(), steps_.end(), [&](const SplitStep& s) { return is_among(cutting, s); });
}

const std::vector<SplitPattern>& split_patterns() {
  static const std::vector<SplitPattern> patterns = known_patterns();
  return patterns;
}

}  // namespace pg
