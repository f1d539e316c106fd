#pragma once
// The problems of a file: which are held out, and which are left out.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {

// How problems with these texts, which need not differ, are divided: empty if is_held_out() divides them, so that some
// are held out and some are not; else by this list. Then one text is held out, and all others are to train on.
std::vector<Split> forced_split(const std::vector<std::string_view>& texts);

// P has a member `text`, the question.
template <class P>
class ProblemPool {
 public:
  ProblemPool() = default;
  // `held_out`: the problems of a file of their own; empty: some of `problems`. Those of `problems` that are in
  // `held_out` are left out.
  ProblemPool(std::string file, std::vector<P> problems, std::vector<P> held_out = {})
      : file_(std::move(file)), train_(std::move(problems)), held_out_(std::move(held_out)) {
    own_file_ = !held_out_.empty();
    std::set<std::string_view> texts;
    for (const P& p : held_out_) texts.insert(p.text);
    std::erase_if(train_, [&](const P& p) { return texts.contains(p.text); });
    check(!train_.empty(), "{}: all of its problems are held out too, so none is left to train on", file_);
    divide();
  }
  bool empty() const { return train_.empty(); }
  // The problems, each with its split. Drawn uniformly from all.
  std::pair<const P&, Split> draw(Generator& generator) const {
    const auto which = static_cast<size_t>(generator.integer(std::ssize(train_) + std::ssize(held_out_)));
    if (which >= train_.size()) return {held_out_[which - train_.size()], Split::held_out};
    if (own_file_) return {train_[which], Split::train};
    if (only_one_) return {train_[which], generator.integer(2) == 0 ? Split::train : Split::held_out};
    return {train_[which], splits_.empty() ? Split::by_key : splits_[which]};
  }
  template <class F>
  void each(const F& f) const {
    for (const P& p : train_) f(p);
    for (const P& p : held_out_) f(p);
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    each([&](const P& p) { all.push_back(p.text); });
    return all;
  }
  // Leaves out the problems whose texts `fits` refuses, and returns how many: PuzzleTask::keep(). Error if none is left
  // to train on or held out.
  int64_t keep(const std::function<bool(const std::string&)>& fits) {
    if (empty()) return 0;
    const auto refused = [&](const P& p) { return !fits(p.text); };
    const auto count = static_cast<int64_t>(std::erase_if(train_, refused) + std::erase_if(held_out_, refused));
    check(!train_.empty() && (!own_file_ || !held_out_.empty()),
          "{}: every prompt is too long, so that no problem is left; take a larger --max-prompt, a shorter --response, "
          "or "
          "a model with a longer context",
          file_);
    if (count > 0) divide();
    return count;
  }
  // A sentence if the same problem is learned and evaluated, else empty.
  std::string note() const {
    if (!only_one_) return "";
    return fmt::format("{}: all problems have the same text, so that the held-out problem is the one that is learned.",
                       file_);
  }

 private:
  void divide() {
    if (own_file_) return;
    std::vector<std::string_view> texts;
    for (const P& p : train_) texts.push_back(p.text);
    splits_ = forced_split(texts);
    only_one_ = std::all_of(texts.begin(), texts.end(), [&](std::string_view text) { return text == texts[0]; });
  }

  std::string file_;
  std::vector<P> train_, held_out_;  // without a file of held-out problems, train_ has all
  std::vector<Split> splits_;        // of train_
  bool own_file_ = false, only_one_ = false;
};

}  // namespace pg
