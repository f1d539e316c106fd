#pragma once
// Tasks over digits, small enough to be learned in a minute and large enough to have a held-out share.
#include "tasks/text_task.h"

namespace pg {

// Strings of 1 to `length` digits, to be copied, reversed or sorted. The reward is the share of the answer (its end
// included) that is right up to the first mistake; a tenth of all strings is held out.
enum class DigitString : uint8_t { copy, reverse, sort };
std::unique_ptr<TextTask> digit_string_task(DigitString kind, int64_t length);

// "3,5:4" is answered by the next 4 numbers of the sequence, each the sum of the one before and the difference, modulo
// 10: "7,9,1,3". 1000 problems, 200 of them held out; the reward is as above. After verl's digit completion.
std::unique_ptr<TextTask> digit_completion_task();

// A number of 0 to 99 is guessed; the world answers "<" or ">" (the number is smaller, larger) until the guess is right
// or five guesses are spent. Reward 1 for a right guess. Episodes of many turns.
std::unique_ptr<TextTask> guess_task();

}  // namespace pg
