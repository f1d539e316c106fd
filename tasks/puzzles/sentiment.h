#pragma once
// The texts of the task sentiment, beginnings of reviews and how they may go on, and a lexicon of English words with
// graded sentiment, by which they are judged.
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/random.h"

namespace pg {

enum class Mood { positive, negative, neutral };

// "the soup we had on monday": without a word of the lexicon.
std::string review_beginning(Generator& generator);
// "was wonderful and we stayed for an hour.": a continuation with the full reward for the mood.
std::string review_end(Generator& generator, Mood mood);

// The reward of a continuation, from 0 to 1: how far its sentiment (sentiment_of) is that of the mood. Positive and
// negative need a mean value of 2 for 1; neutral loses half for each point of its strongest word. 0 for what is no
// continuation: less than 4 or more than `most_words` words, no period at the end, a word that follows itself, less
// than two thirds different words, or more than a third of words with sentiment.
double mood_reward(std::string_view continuation, Mood mood, int most_words);

// The share of neighbouring words of a continuation, its begin and end included, that neighbour each other in the
// continuations that review_end() can return, or there with another word of the lexicon or "not" before it. 1 for all
// of those, less for invented words and for words in another order.
double review_fluency(std::string_view continuation);

// The first four words of each sentence of at least eight words of a text, in lower case, letters, digits and
// apostrophes only; each once. Sentences end at . ! ? or an empty line; <br /> is a space.
std::vector<std::string> sentence_beginnings(std::string_view text);

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

// The sentiment of a text. Case does not matter. A word counts once, however often it is repeated. Up to three words
// behind "not", "never", "no", "nothing", "hardly" or a word that ends in "n't", in the same clause, a word has minus
// half its value: "not very good" is mildly negative. Clauses end at punctuation, "but" and "and".
Sentiment sentiment_of(std::string_view text);

}  // namespace pg
