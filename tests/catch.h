#pragma once
// Includes Catch2 version 2 (Debian 12) or 3 (Ubuntu 24.04). Use only what both versions have: TEST_CASE, SECTION,
// GENERATE, REQUIRE, CHECK, tags, Approx. A test case's name must not contain brackets, commas or semicolons (CTest
// runs test cases by name).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
#include <string>

namespace pg::testing {
// Ends the running test case and reports it as skipped. Helper functions of a test may call it.
[[noreturn]] void skip(const std::string& reason);
}  // namespace pg::testing

#define SKIP_TEST(reason) ::pg::testing::skip(reason)
