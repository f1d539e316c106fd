#pragma once
// A lexicon of English words with graded sentiment, and the sentiment of a text by it.
#include <string_view>
#include <vector>

namespace pg {

// The value of a word in lower case: -3 to -1 negative, 1 to 3 positive; 0 for any other word.
int word_sentiment(std::string_view word);
// The words of a value.
std::vector<std::string_view> words_of_sentiment(int value);

struct Sentiment {
  double value = 0;                         // the mean of the values of its words with sentiment; 0 without any
  double strongest = 0;                     // the largest absolute value among them
  int words = 0, loaded = 0, distinct = 0;  // all words; those with sentiment; different words
  bool repeats = false;                     // a word follows itself
};

// Case does not matter. A word counts once, however often it is repeated. Up to three words behind "not", "never",
// "no", "nothing", "hardly" or a word that ends in "n't", in the same clause, a word has minus half its value: "not
// very good" is mildly negative. Clauses end at punctuation, "but" and "and".
Sentiment sentiment_of(std::string_view text);

}  // namespace pg
