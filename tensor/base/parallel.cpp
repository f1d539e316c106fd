// The thread pool and parallel_for.
#include "tensor/base/parallel.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <unistd.h>

#include "tensor/base/cores.h"
#include "tensor/base/error.h"

namespace pg {

namespace {

// One call of parallel_for. It is on the caller's stack, so the caller returns only when no worker uses it.
struct Job {
  int64_t n, grain, chunks;
  detail::ChunkFn fn;
  void* context;
  std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;
};

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::atomic<bool> more_threads_than_cores{false};

// Busy-waits for `done` for a limited time: a sleeping thread takes tens of microseconds to wake, more in a virtual
// machine, and the serial parts of a training step are shorter than this limit. A longer wait would take CPU time from
// other threads; with more threads than cores, from those that it waits for, so it does not busy-wait then.
template <class F>
void spin(F done) {
  if (more_threads_than_cores.load(std::memory_order_relaxed)) return;
  constexpr auto most = std::chrono::microseconds(500);
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 50; ++i) {
      if (done()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() - start < most);
}

thread_local bool in_chunk = false;  // this thread is inside f: nested calls run inline

void run_chunk(int64_t n, int64_t grain, int64_t chunk, detail::ChunkFn fn, void* context) {
  const int64_t begin = chunk * grain;
  fn(context, begin, n - begin < grain ? n : begin + grain);
}

// Takes chunks until none are left.
void work(Job& job) {
  in_chunk = true;
  for (;;) {
    const int64_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= job.chunks) break;
    try {
      run_chunk(job.n, job.grain, chunk, job.fn, job.context);
    } catch (...) {
      std::lock_guard lock(job.error_mutex);
      if (!job.error) job.error = std::current_exception();
      job.next.store(job.chunks, std::memory_order_relaxed);
    }
  }
  in_chunk = false;
}

class Pool {
 public:
  explicit Pool(int workers) : owner_(getpid()) {
    more_threads_than_cores.store(workers >= usable_cores(), std::memory_order_relaxed);
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error& e) {
      const size_t started = threads_.size() + 1;  // the caller is one
      join();
      fail("threads: the system could start only {} of {} ({}); request at most that many", started, workers + 1,
           e.code().message());
    } catch (...) {
      join();
      throw;
    }
  }
  ~Pool() { join(); }
  // A child of fork() has the memory of the pool but none of its threads.
  bool usable() const { return getpid() == owner_; }
  int workers() const { return static_cast<int>(threads_.size()); }

  void run(Job& job) {
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      ticket_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    work(job);
    {
      std::lock_guard lock(mutex_);
      job_ = nullptr;  // from here on no worker can take the job
    }
    const auto left = [this] { return inside_.load(std::memory_order_acquire) == 0; };
    spin(left);
    if (left()) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, left);
  }

 private:
  void join() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      ticket_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void serve() {
    uint64_t seen = 0;
    for (;;) {
      spin([&] { return ticket_.load(std::memory_order_acquire) != seen; });
      Job* job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ticket_.load(std::memory_order_relaxed) != seen; });
        seen = ticket_.load(std::memory_order_relaxed);
        if (stop_) return;
        job = job_;
        if (!job) continue;  // the job finished before this worker took it
        inside_.fetch_add(1, std::memory_order_relaxed);
      }
      work(*job);
      {
        std::lock_guard lock(mutex_);
        inside_.fetch_sub(1, std::memory_order_release);
      }
      done_.notify_one();
    }
  }

  const pid_t owner_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<uint64_t> ticket_{0};  // counts jobs; a change wakes the workers
  std::atomic<int> inside_{0};       // workers that hold job_
  Job* job_ = nullptr;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

int default_threads() {
  if (const char* text = std::getenv("POLICYGRAD_THREADS")) {
    char* end;
    const long n = std::strtol(text, &end, 10);
    check(*text && !*end && n >= 1 && n <= 1024,
          "POLICYGRAD_THREADS: expected a number of threads from 1 to 1024, got \"{}\"", text);
    return static_cast<int>(n);
  }
  return usable_cores();
}

std::atomic<int>& thread_count() {
  static std::atomic<int> n = default_threads();
  return n;
}

// Guards the pool: one parallel_for at a time uses the workers; a second caller meanwhile runs its chunks on its own
// thread.
std::mutex& pool_mutex() {
  static std::mutex mutex;
  return mutex;
}

// The pool with `workers` threads; pool_mutex is held.
Pool& pool(int workers) {
  // Never destroyed at exit: after a fork its destructor would wait for threads that do not exist.
  static Pool* current = nullptr;
  if (current && !current->usable()) current = nullptr;
  if (current && current->workers() != workers) {
    delete current;
    current = nullptr;
  }
  if (!current) current = new Pool(workers);
  return *current;
}

}  // namespace

int num_threads() { return thread_count().load(std::memory_order_relaxed); }

int parallelism() { return in_chunk ? 1 : num_threads(); }

void set_num_threads(int n) {
  check(n >= 1 && n <= 1024, "set_num_threads: expected 1 to 1024, got {}", n);
  thread_count().store(n, std::memory_order_relaxed);
}

namespace detail {

void parallel_chunks(int64_t n, int64_t grain, ChunkFn fn, void* context) {
  check(grain > 0, "parallel_for: expected a grain of at least 1, got {}", grain);
  const int64_t chunks = (n + grain - 1) / grain;
  const int threads = num_threads();
  if (threads > 1 && !in_chunk) {
    std::unique_lock lock(pool_mutex(), std::try_to_lock);
    if (lock) {
      Job job{.n = n, .grain = grain, .chunks = chunks, .fn = fn, .context = context, .error_mutex{}, .error{}};
      pool(threads - 1).run(job);
      if (job.error) std::rethrow_exception(job.error);
      return;
    }
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk) run_chunk(n, grain, chunk, fn, context);
}

}  // namespace detail

}  // namespace pg
