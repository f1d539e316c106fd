#pragma once
// Knows which of the learner's pieces the demonstration called last, and which one threw. The record is in memory that
// a child process shares, so that it outlives a crash there.
#include <string>
#include <utility>

namespace pg::kit {

struct LastPiece {
  std::string name;    // "" before the first call
  bool threw = false;  // out of the piece itself, not later
  bool ended = false;  // the demonstration came to its end, by itself or with an exception
};
LastPiece last_piece();
void begin_pieces();  // forgets what was called
void enter_piece(const std::string& name);
void piece_threw(const std::string& name);
void demonstration_ended();

// Guard<&Impl::f>::call calls `learner` and keeps account of it; it can stand in Impl in the place of f.
template <auto Member>
struct Guard;
template <class Impl, class Result, class... Args, Result (*Impl::*Member)(Args...)>
struct Guard<Member> {
  static inline std::string piece;
  static inline Result (*learner)(Args...) = nullptr;

  static Result call(Args... args) {
    enter_piece(piece);
    try {
      return learner(std::forward<Args>(args)...);
    } catch (...) {
      piece_threw(piece);
      throw;
    }
  }
};

}  // namespace pg::kit
