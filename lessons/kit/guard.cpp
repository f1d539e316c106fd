#include "lessons/kit/guard.h"

#include <mutex>

namespace pg::kit {
namespace {

std::mutex mutex;  // a demonstration may call pieces from several threads
LastPiece last;

}  // namespace

LastPiece last_piece() {
  const std::lock_guard lock(mutex);
  return last;
}
void begin_pieces() {
  const std::lock_guard lock(mutex);
  last = {};
}
void enter_piece(const std::string& name) {
  const std::lock_guard lock(mutex);
  if (!last.threw) last.name = name;
}
void piece_threw(const std::string& name) {
  const std::lock_guard lock(mutex);
  if (!last.threw) last = {name, true};
}

}  // namespace pg::kit
