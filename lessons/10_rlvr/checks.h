#pragma once
// The checks of lesson 10 by part, and known mistakes.
#include <functional>
#include <string>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson10 {
using WrongWay = kit::KnownText;
using kit::same_text;

// checks_expression.cpp
void check_read_expression(kit::Grader& g, const Impl& impl);
void check_countdown_reward(kit::Grader& g, const Impl& impl);
// checks_answers.cpp
void check_last_boxed(kit::Grader& g, const Impl& impl);
void check_same_number(kit::Grader& g, const Impl& impl);
// checks_numbers.cpp
void check_pass_at_k(kit::Grader& g, const Impl& impl);
void check_hanoi_progress(kit::Grader& g, const Impl& impl);
void check_majority_vote(kit::Grader& g, const Impl& impl);

// mistakes.cpp
kit::Mistakes<&Impl::pass_at_k> pass_at_k_mistakes();

// A text for a person to read: in quotes, in the middle cut if long, bytes that are not printable ASCII as \x00.
std::string quoted(std::string_view text);

// What a learner's function threw, as "an exception: ..."; "" if it threw nothing. A TODO passes through.
std::string exception_of(const std::function<void()>& call);
inline const char* const kThrows =
    "an exception: a text that is wrong is no error, it earns nothing; from_chars throws nothing, stoi and stoll do";

}  // namespace pg::lesson10
