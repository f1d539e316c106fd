// Errors: format and thrown type.
#include "tensor/base/error.h"
#include "tests/catch.h"

TEST_CASE("check throws the formatted message only when the condition is false", "[error]") {
  pg::check(true, "never {}", 1);
  std::string message;
  try {
    pg::check(2 + 2 == 5, "add: expected {}, got {}", 5, 2 + 2);
  } catch (const pg::Error& error) {
    message = error.what();
  }
  CHECK(message == "add: expected 5, got 4");
}
