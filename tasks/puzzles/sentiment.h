#pragma once
// Beginnings of reviews and how they may go on: the texts of the task sentiment.
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

// The reward of a continuation, from 0 to 1: how far its sentiment (lexicon.h) is that of the mood. Positive and
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

}  // namespace pg
