#include "lessons/09_grpo/lesson.h"
namespace pg::lesson09 {
void show_characters(kit::Demo&, const Impl&) {}
}  // namespace pg::lesson09
