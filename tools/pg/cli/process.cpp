// Threads, standard streams, signals and exit statuses of pg.
#include "tools/pg/cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {
namespace {

// Read-only, so that writing to a stream that was closed is still an error.
void open_closed_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != file) std::abort();
  }
}

constexpr const char* kNoMemory = "out of memory; take a smaller model, batch, context or file";

std::terminate_handler terminate_before = nullptr;

constinit thread_local bool new_failed = false;
void note_failed_new() {
  new_failed = true;
  throw std::bad_alloc();
}

// A function that must not throw has run out of memory, here or in a library: a destructor, a thread, CLI11. What is on
// the disk is whole at any time, so the process ends as it does after an exception. Where g++ has inlined the function,
// as in the directory_iterator of libstdc++, the exception is not the current one yet.
void end_without_memory() {
  bool no_memory = new_failed && std::uncaught_exceptions() > 0;
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    no_memory = true;
  } catch (...) {
    no_memory = false;
  }
  if (!no_memory) terminate_before();
  for (const char* text : {"pg: ", kNoMemory, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(1);
}

int complain(std::string sentence) {
  std::replace_if(
      sentence.begin(), sentence.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  remark(stderr, "pg: {}\n", sentence);
  return 1;
}

}  // namespace

std::string sentence_of(const std::exception& e) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
  return no_memory ? kNoMemory : e.what();
}

void flush_output() {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0;
  if (!failed && std::ferror(stdout) == 0) return;
  throw std::system_error(errno == 0 ? EIO : errno, std::generic_category(), "cannot write to standard output");
}

int run_process(const std::function<int()>& command) {
  open_closed_streams();
  terminate_before = std::set_terminate(end_without_memory);
  std::set_new_handler(note_failed_new);
  std::signal(SIGPIPE, SIG_IGN);  // a training run continues after its reader has exited
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails, and its error is a sentence
  try {
    const int status = command();
    flush_output();
    return status;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::broken_pipe) {  // `pg sample RUN | head`: the reader has exited
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    return complain(sentence_of(e));
  } catch (const std::exception& e) {
    return complain(sentence_of(e));
  }
}

void start_threads(int threads) {
  if (threads > 0) set_num_threads(threads);
  parallel_for(2, 1, [](int64_t, int64_t) {});
}

}  // namespace pg::tools

namespace pg {

namespace {
volatile std::sig_atomic_t caught = 0;  // the number of the signal

void on_signal(int number) {
  caught = number;
  std::signal(number, SIG_DFL);
}
}  // namespace

void catch_interrupt() {
  caught = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}
bool interrupted() { return caught != 0; }
void set_interrupt(int signal) { caught = signal; }
int interrupt_status() { return 128 + caught; }

}  // namespace pg
