// Starts the ranks of a command, starts them again if one dies, and says why once.
#include "tools/pg/run/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include "tensor/backend.h"
#include "tensor/base/cores.h"
#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tensor/comm/nccl_rank.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {
namespace {

// What the ranks tell the process that started them, in memory that they share.
struct Notes {
  std::atomic<int> failed{-1};  // the first rank whose command threw
  bool broken_pipe = false;     // nobody reads its output
  char sentence[1000] = {};
  char folder[4096] = {};  // of the run
};
Notes* notes = nullptr;

template <size_t N>
void store(char (&to)[N], const std::string& text) {
  const size_t n = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

// Maps the notes until it is destroyed.
class SharedNotes {
 public:
  SharedNotes() {
    void* at = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, "ranks: the system has no shared memory: {}", std::strerror(errno));
    notes = new (at) Notes;
  }
  ~SharedNotes() { munmap(std::exchange(notes, nullptr), sizeof(Notes)); }
  SharedNotes(const SharedNotes&) = delete;
};

// Only the first call has an effect: a rank that throws because another one failed comes later than that one.
void note_failure(int rank, const std::exception& e) {
  int none = -1;
  if (!notes->failed.compare_exchange_strong(none, rank)) return;
  const auto* of_system = dynamic_cast<const std::system_error*>(&e);
  notes->broken_pipe = of_system && of_system->code() == std::errc::broken_pipe;
  store(notes->sentence, sentence_of(e));
}

void discard(int file) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  check(nowhere >= 0 && ::dup2(nowhere, file) == file, "ranks: cannot open /dev/null: {}", std::strerror(errno));
  ::close(nowhere);
}

// Discards the standard output of ranks other than 0, and unless they shall write, their remarks.
class Silence {
 public:
  Silence(const Comm& comm, bool log_all) {
    if (comm.rank() == 0) return;
    discard(STDOUT_FILENO);
    set_remark_prefix(fmt::format("[rank {}] ", comm.rank()));
    if (log_all) return;
    stderr_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    discard(STDERR_FILENO);
  }
  ~Silence() {
    if (stderr_ < 0) return;
    ::dup2(stderr_, STDERR_FILENO);
    ::close(stderr_);
  }
  Silence(const Silence&) = delete;

 private:
  int stderr_ = -1;
};

// The group of the ranks' GPUs, between which NCCL carries the elements.
std::unique_ptr<Comm> gpu_group(Comm& group, int local_rank, double timeout) {
  const Backend& cuda = backend(Device::Kind::cuda);
  const int seen = cuda.device_count();
  check(seen > 0, "--device cuda: {}", cuda.why_none());
  NcclOptions options{.compare_calls = true};  // so `group` waits for a rank that is late, and sees whether it works
  if (timeout > 0) options.timeout = timeout;
  return nccl_rank(group, seen == 1 ? 0 : local_rank, options);
}

int run_as_rank(Comm& group, bool on_gpus, int local_rank, const RankOptions& o,
                const std::function<int(Comm&)>& command) {
  const Silence silence(group, o.log_all);
  try {
    const std::unique_ptr<Comm> gpus = on_gpus ? gpu_group(group, local_rank, o.timeout) : nullptr;
    Comm& comm = on_gpus ? *gpus : group;
    const int status = command(comm);
    flush_output();
    comm.barrier();  // run_ranks() gives the others little time once one has ended with another status than 0
    return status;
  } catch (const std::exception& e) {
    if (notes) note_failure(group.rank(), e);
    throw;
  }
}

bool requests_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

Field ranks_field(RankOptions& o) {
  return not_in_files(
      {"ranks", &o.ranks, "processes that share the work; they give the same bits as one", whole_from(1, 64)});
}

std::vector<Field> fields(RankOptions& o) {
  return titled(
      "Ranks",
      {ranks_field(o),
       not_in_files(flag("log-all-ranks", o.log_all, "ranks other than 0 write their remarks to standard error too")),
       not_in_files({"restarts", &o.restarts, "how often the ranks are started again from the run's folder if one dies",
                     whole_from(0, 1000000)}),
       not_in_files({"rank-timeout", &o.timeout,
                     "seconds that a rank waits for another one that does nothing; 0: 10, or 600 for ranks of other "
                     "machines",
                     kNotNegative})});
}

Field zero_field(RankOptions& o, int most) {
  Field field =
      not_in_files({"zero", &o.zero,
                    fmt::format("with several ranks: each holds its share of 1: the optimizer's state, 2: the "
                                "gradients too{}; 0: each holds all",
                                most < 3 ? "" : ", 3: the weights too"),
                    whole_from(0, most)});
  field.group = "Ranks";
  return field;
}

int rank_count(const RankOptions& o) {
  const auto started = ranks_of_environment();
  return started ? started->size : o.ranks;
}

void settle_batches(TrainConfig& train, const RankOptions& o, const Given& given) {
  const int ranks = rank_count(o);
  if (!given.has("accumulate")) train.micro_batches = ranks;
  check(train.micro_batches >= ranks,
        "{0}: each of the {1} ranks needs a batch in every step, but --accumulate is {2}; take at most {2} ranks, or "
        "--accumulate {1} or more",
        given.command(), ranks, train.micro_batches);
  check(o.zero < 3 || train.micro_batches % ranks == 0,
        "{}: with --zero 3 all ranks compute equally many batches, but --accumulate {} is no multiple of {} ranks",
        given.command(), train.micro_batches, ranks);
}

void settle_micro_batch(int64_t& micro_batch, int64_t batch, const RankOptions& o, const Given& given) {
  const int ranks = rank_count(o);
  if (ranks > 1 && !given.has("micro-batch")) micro_batch = (batch + ranks - 1) / ranks;
}

int run_on_ranks(const RankOptions& o, const std::string& device, RunOptions& run,
                 const std::function<int(Comm&)>& work) {
  const bool on_gpus = parse_device_kind(device) == Device::Kind::cuda;
  check(rank_count(o) == 1 || device.find(':') == std::string::npos,
        "--device {}: each of several ranks has a GPU of its own; take cuda, and CUDA_VISIBLE_DEVICES to choose GPUs",
        device);
  check((rank_count(o) == 1 && o.restarts == 0) || parse_device_kind(device) != Device::Kind::plain,
        "--device plain: it computes on one rank; leave --ranks and --restarts out, or take cpu");
  const auto command = [&](Comm& comm) {
    if (comm.size() > 1) {
      check_same_on_all_ranks(comm, "options", fmt::format("{}\nresume: {}\n", run.config, run.resume));
    }
    return work(comm);
  };
  if (const auto started = ranks_of_environment(); started && started->size > 1) {
    check(o.ranks == 1 && o.restarts == 0, "--ranks and --restarts: {} has started {} ranks already; leave them out",
          started->source, started->size);
    const auto comm = comm_of_environment({.timeout = o.timeout > 0 ? o.timeout : 10,
                                           .remote_timeout = o.timeout > 0 ? o.timeout : 600,
                                           .carries_elements = !on_gpus});
    return run_as_rank(*comm, on_gpus, started->local_rank, o, command);
  }
  if (o.ranks == 1 && o.restarts == 0) return command(*single_rank(parse_device(device)));
  for (int restart = 1;; ++restart) {
    const SharedNotes shared;
    std::string sentences;
    const int status = run_ranks(
        o.ranks, [&](Comm& comm) { return run_as_rank(comm, on_gpus, comm.rank(), o, command); },
        {.timeout = o.timeout > 0 ? o.timeout : 10}, &sentences);
    const std::string first = sentences.substr(0, sentences.find('\n'));
    const bool killed = first.find("was ended by signal") != std::string::npos;
    const int failed = notes->failed;
    if ((!killed && failed < 0) || (killed && requests_end(status - 128))) return status;
    const std::string why = killed ? first : fmt::format("rank {}: {}", failed, notes->sentence);
    if (!killed && notes->broken_pipe) throw std::system_error(std::make_error_code(std::errc::broken_pipe));
    const std::string folder = notes->folder;
    check((killed || !folder.empty()) && restart <= o.restarts, "{}", why);
    if (!folder.empty()) run.resume = folder;
    remark(stderr, "pg: {}; all ranks start again{} (restart {} of {})\n", why,
           run.resume.empty() ? "" : " from " + run.resume, restart, o.restarts);
  }
}

void start_threads(int threads, Comm& comm) {
  if (threads == 0 && comm.size() > 1) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const auto own = static_cast<double>(std::hash<std::string>()(host) >> 12);  // as many bits as a double has
    std::vector<double> hosts(static_cast<size_t>(comm.size()));
    hosts[static_cast<size_t>(comm.rank())] = own;
    const Tensor all = Tensor::from(hosts, {comm.size()}).to(comm.device());
    comm.all_gather(all);
    hosts = all.to_vector();
    const auto here = static_cast<int>(std::count(hosts.begin(), hosts.end(), own));
    threads = std::max(1, usable_cores() / here);
  }
  start_threads(threads);
}

namespace {

// The largest of the ranks' numbers.
int32_t most(Comm& comm, int32_t here) {
  if (comm.size() == 1) return here;
  const Tensor all = Tensor::zeros({comm.size()}, i32);
  all.data<int32_t>()[static_cast<size_t>(comm.rank())] = here;
  const Tensor on_device = all.to(comm.device());
  comm.all_gather(on_device);
  const std::vector<double> numbers = on_device.to_vector();
  return static_cast<int32_t>(*std::max_element(numbers.begin(), numbers.end()));
}

}  // namespace

bool agreed(Comm& comm, bool here) { return most(comm, here) != 0; }

bool interrupted_anywhere(Comm& comm) {
  const int32_t signal = most(comm, interrupted() ? interrupt_status() - 128 : 0);
  check(signal >= 0 && signal < NSIG, "ranks: a rank was interrupted by signal {}, expected 1 to {}", signal, NSIG - 1);
  if (signal != 0) set_interrupt(signal);  // a signal that comes in between counts the next time
  return signal != 0;
}

OpenedRun open_run(Comm& comm, const std::string& path) {
  OpenedRun opened{comm.rank() == 0 ? open_run(path) : std::optional<RunDir>()};
  if (comm.rank() == 0) opened.has_checkpoint = has_checkpoint(opened.folder);
  opened.has_checkpoint = agreed(comm, opened.has_checkpoint);
  return opened;
}

std::optional<RunDir> start_run(Comm& comm, std::optional<RunDir> opened, int64_t done, const std::string& root,
                                const std::string& name) {
  if (comm.rank() != 0) return std::nullopt;
  RunDir run = start_run(std::move(opened), done, root, name);
  if (notes) store(notes->folder, run.path());
  return run;
}

std::string path_on_ranks(Comm& comm, const std::optional<RunDir>& run, int zero) {
  std::string path = broadcast_text(comm, run ? run->path() : "");
  std::error_code error;
  check(zero == 0 || comm.size() == 1 || std::filesystem::is_directory(path, error),
        "--zero {}: every rank writes into the run's folder, but rank {} does not find {}; take a folder that all "
        "hosts share, with an absolute path",
        zero, comm.rank(), path);
  return path;
}

}  // namespace pg::tools
