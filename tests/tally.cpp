// Ends every run of a test program with the line "N passed, N failed, N skipped", one count per test case, and with the
// processor time, "cpu S s", which scripts/run_tests.sh reads.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <sys/resource.h>

#include <iomanip>
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

// The processor time of this process and of the children that it waited for.
double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    }
  }
  return seconds;
}

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
    std::cout << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped\n";
    std::cout << "cpu " << std::fixed << std::setprecision(2) << cpu_seconds() << " s" << std::endl;
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
