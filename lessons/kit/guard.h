#pragma once
// Records which of the learner's pieces the demonstration called last, and which one threw. The record is in memory
// shared with a child process, so that it survives a crash of the child.
#include <string>
#include <utility>

namespace pg::kit {

struct LastPiece {
  std::string name;    // "" before the first call
  bool threw = false;  // the exception came out of the piece itself, not later
  bool ended = false;  // the demonstration ended, normally or with an exception
};
LastPiece last_piece();
void begin_pieces();  // clears the record
void enter_piece(const std::string& name);
void piece_threw(const std::string& name);
void demonstration_ended();

// Guard<&Impl::f>::call calls `learner` and records the call. It can replace f in Impl.
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
