// Ends every run of pg_tests with the line "N passed, N failed, N skipped", one count per test case.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <iostream>

#include "tests/catch.h"

namespace {

bool skipped_now = false;  // the running test case called skip()

#ifdef CATCH_VERSION_MAJOR
#define PG_CATCH_MAJOR CATCH_VERSION_MAJOR
#else
#define PG_CATCH_MAJOR 3
#endif

#if PG_CATCH_MAJOR >= 3
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

class Tally : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo&) override { skipped_now = false; }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    // A test that failed before it called skip() counts as failed.
    if (stats.totals.assertions.failed > 0) {
      ++failed_;
    } else if (skipped_now) {
      ++skipped_;
    } else {
      ++passed_;
    }
  }

  void testRunEnded(const Catch::TestRunStats&) override {
    std::cout << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped" << std::endl;
  }

 private:
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

CATCH_REGISTER_LISTENER(Tally)

}  // namespace

void pg::testing::skip(const std::string& reason) {
  skipped_now = true;
  std::cout << "skipped: " << Catch::getResultCapture().getCurrentTestName() << ": " << reason << std::endl;
#if PG_CATCH_MAJOR >= 3
  SKIP();
  __builtin_unreachable();  // SKIP throws, but version 3 does not declare that to the compiler
#else
  throw Catch::TestFailureException();  // version 2 ends a test case like this, and counts nothing
#endif
}
