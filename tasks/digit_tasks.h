#pragma once
// Tasks on digits: small enough to be learned in a minute, large enough to have held-out problems.
#include "tasks/text_task.h"

namespace pg {

// Strings of 1 to `length` digits that must be copied, reversed or sorted. The reward is the fraction of the answer
// (its end token included) that is right up to the first mistake; a tenth of all strings is held out.
struct DigitStringOptions {
  int64_t length = 6;
};
std::vector<Field> fields(DigitStringOptions& options);
std::unique_ptr<TextTask> copy_task(const DigitStringOptions& options = {});
std::unique_ptr<TextTask> reverse_task(const DigitStringOptions& options = {});
std::unique_ptr<TextTask> sort_task(const DigitStringOptions& options = {});

// The answer to "3,5:4" is the next 4 terms of the sequence, "7,9,1,3": each term adds the difference of the first two,
// modulo 10. 1000 problems, 200 of them held out; the reward is that of copy_task. After verl's digit
// completion.
std::unique_ptr<TextTask> digit_completion_task();

// The policy guesses a number from 0 to 99. The environment answers "<" or ">" (the number is smaller, larger) until
// the guess is right or five guesses are used. Reward 1 for a right guess. Multi-turn episodes.
std::unique_ptr<TextTask> guess_task();

}  // namespace pg
