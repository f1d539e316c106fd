// Reads the variables by which programs that start ranks tell each one its number.
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tensor/comm/links.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/socket_meeting.h"

namespace pg {
namespace {

// The first row of which a mark is set counts.
struct Starter {
  const char* source;
  const char* marks[2];
  const char *rank, *size, *local_rank;
  bool mpi;
};
constexpr const char *kSlurmStep = "SLURM_STEP_ID", *kSlurmSize = "SLURM_NTASKS", *kSlurmLocal = "SLURM_LOCALID";
constexpr Starter kStarters[] = {
    {"Open MPI",
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     true},
    {"MPI (PMI)", {"PMI_RANK", "PMI_SIZE"}, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true},
    {"MPI (PMIx)", {"PMIX_RANK", "PMIX_RANK"}, "PMIX_RANK", kSlurmSize, kSlurmLocal, true},
    {"torchrun", {"RANK", "WORLD_SIZE"}, "RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    // A batch script has the other variables too; only srun sets this one.
    {"Slurm", {kSlurmStep, kSlurmStep}, "SLURM_PROCID", kSlurmSize, kSlurmLocal, false},
};
constexpr const char *kAddress = "MASTER_ADDR", *kPort = "MASTER_PORT";
constexpr const char* kAgentHasPort = "TORCHELASTIC_USE_AGENT_STORE";
constexpr const char* kHosts[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"};
constexpr const char* kLaunchAddress = "SLURM_LAUNCH_NODE_IPADDR";
constexpr const char* kJob = "SLURM_JOB_ID";
constexpr const char* kToken = "POLICYGRAD_TOKEN";
constexpr const char* kRuns[] = {"TORCHELASTIC_RUN_ID", kJob};  // other users may know them

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}
bool is_set(const char* name) { return !text_of(name).empty(); }

int number_of(const char* name, int least, int most) {
  const std::string text = text_of(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(!text.empty(), "ranks: {} is not set", name);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        "ranks: {} is \"{}\", expected a number from {} to {}", name, text, least, most);
  return value;
}

const Starter* starter() {
  for (const Starter& s : kStarters) {
    if (!is_set(s.marks[0]) && !is_set(s.marks[1])) continue;
    // srun sets these variables for every program, so without MPI its ranks meet as those of torchrun do.
    if (s.mpi && mpi_version().empty() && is_set(kSlurmStep) && !is_set(kStarters[0].rank)) continue;
    return &s;
  }
  return nullptr;
}

SocketOptions meeting_point(const RankInfo& info, const StartOptions& options) {
  SocketOptions o{.rank = info.rank,
                  .size = info.size,
                  .timeout = options.connect_timeout,
                  .sees_processes = options.sees_processes,
                  .idle = options.timeout};
  o.address = text_of(kAddress);
  const bool slurm = is_set(kSlurmStep);
  for (const char* hosts : kHosts) {
    if (o.address.empty() && slurm) o.address = first_host(text_of(hosts));
  }
  if (o.address.empty() && slurm) o.address = text_of(kLaunchAddress);
  check(!o.address.empty(), "ranks: {} is not set: the address of rank 0", kAddress);
  if (is_set(kPort) || !slurm) {
    o.port = number_of(kPort, 1, 65535);
    // The port itself is taken by torchrun, for ranks that use PyTorch.
    if (text_of(kAgentHasPort) == "True") o.port = o.port == 65535 ? 1024 : o.port + 1;
  } else {
    o.port = 20000 + number_of(kJob, 0, INT32_MAX) % 10000;
  }
  o.token = text_of(kToken);
  for (const char* run : kRuns) {
    if (o.run.empty()) o.run = text_of(run);
  }
  return o;
}

// The group of ranks that MPI does not join.
std::unique_ptr<Comm> met_rank(const RankInfo& info, const StartOptions& options) {
  Met met = meet(meeting_point(info, options));
  if (met.memory) return shared_memory_rank(*met.memory, info.rank, true);
  check(
      !options.carries_elements,
      "ranks: rank {} is not on the machine of rank 0, or in another container: between CPUs of several machines the "
      "elements go over MPI. Start the ranks with mpirun and build with MPI (libopenmpi-dev); with --device cuda NCCL "
      "carries them",
      met.elsewhere);
  return meeting_rank(info.rank, info.size, std::move(met.connections), {.timeout = options.remote_timeout});
}

}  // namespace

std::string first_host(const std::string& list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const size_t end = list.find(']', i), first = list.find_first_of(",-]", i);
    if (end == std::string::npos) break;
    host += list.substr(i + 1, first - i - 1);
    i = end;
  }
  return host;
}

std::optional<RankInfo> ranks_of_environment() {
  const Starter* s = starter();
  if (!s) return {};
  RankInfo info{.source = s->source, .mpi = s->mpi};
  info.size = number_of(s->size, 1, INT16_MAX);
  info.rank = number_of(s->rank, 0, INT16_MAX);
  check(info.rank < info.size, "ranks: {} is {}, but {} is {}; ranks count from 0", s->rank, info.rank, s->size,
        info.size);
  // Ranks that were started by hand seldom have it: they are on one machine.
  info.local_rank = is_set(s->local_rank) ? number_of(s->local_rank, 0, INT16_MAX) : info.rank;
  return info;
}

std::unique_ptr<Comm> comm_of_environment(const StartOptions& options) {
  const auto info = ranks_of_environment();
  if (!info) return nullptr;
  if (info->size == 1) return single_rank();
  if (!info->mpi) return met_rank(*info, options);
  auto links = mpi_links();
  check(links->rank() == info->rank && links->size() == info->size,
        "ranks: MPI has rank {} of {}, but {} started rank {} of {}; use the mpirun of the MPI that this build uses",
        links->rank(), links->size(), info->source, info->rank, info->size);
  return message_rank(std::move(links), {.timeout = options.timeout, .remote_timeout = options.remote_timeout});
}

}  // namespace pg
