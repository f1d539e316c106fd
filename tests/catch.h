#pragma once
// Catch2 version 2 (Debian 12) and 3 (Ubuntu 24.04) behind one name. Use what both have: TEST_CASE, SECTION, GENERATE,
// REQUIRE, CHECK, tags, Approx. A test case's name must have no brackets, commas or semicolons (CTest runs it by name).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
#include <string>

namespace pg::testing {
// Ends the running test case and counts it as skipped, visibly. May be called from helpers of a test.
[[noreturn]] void skip(const std::string& reason);
}  // namespace pg::testing

#define SKIP_TEST(reason) ::pg::testing::skip(reason)
