#pragma once
// The regular expressions by which published models split text, as facts: the syntax is that of tokenizer.json.

namespace pg {

#define POLICYGRAD_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

// GPT-2's encoder.py; SmolLM2's after its digits.
inline constexpr char kGpt2Regex[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// tokenizer.json of Llama 3.
inline constexpr char kLlama3Regex[] = POLICYGRAD_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// tokenizer.json of Qwen 2.
inline constexpr char kQwen2Regex[] =
    POLICYGRAD_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// tiktoken's cl100k_base, without possessive quantifiers, which change nothing here.
inline constexpr char kCl100kRegex[] = POLICYGRAD_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|\s*[\r\n]|\s+(?!\S)|\s)";
// tiktoken's o200k_base.
inline constexpr char kO200kRegex[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" POLICYGRAD_CONTRACTIONS
    R"(?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" POLICYGRAD_CONTRACTIONS
    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The component Digits, with and without individual_digits.
inline constexpr char kDigitRegex[] = R"(\p{N})";
inline constexpr char kDigitsRegex[] = R"(\p{N}+)";
// llama.cpp's for a model without a known pre-tokenizer: each splits the pieces of the one before.
inline constexpr const char* kDefaultRegexes[] = {
    R"([\p{P}\$\+<=>\^~\|]+)", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))",
    kDigitsRegex, R"([0-9][0-9][0-9])"};

#undef POLICYGRAD_CONTRACTIONS

}  // namespace pg
