// pg doctor: compiler, processor, memory, devices.
#include <unistd.h>

#include <filesystem>

#include "tasks/data/fetch.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/parallel.h"
#include "tensor/comm/launch.h"
#include "tensor/comm/links.h"
#include "tensor/comm/nccl_rank.h"
#include "tensor/cpu/gemm/tuning.h"
#include "tensor/device.h"
#include "tools/pg/cli/commands.h"

namespace pg::tools {

namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string vectors() {
#if defined(__AVX512F__)
  return "512 bits (AVX-512)";
#elif defined(__AVX2__)
  return "256 bits (AVX2)";
#elif defined(__ARM_NEON)
  return "128 bits (NEON)";
#else
  return "128 bits; built for any CPU of this kind, a native build is faster";
#endif
}

// Whether new files can be created in `path`: it checks the folder itself or its nearest existing parent.
bool can_write(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return access(folder.c_str(), W_OK) == 0;
}

// What was found, and the first thing to do.
class Findings {
 public:
  explicit Findings(bool json) : json_(json) {}

  void show(const std::string& what, const std::string& value) {
    if (!json_) {
      fmt::print("{:<10} {}\n", what, value);
    } else if (what == "data" || what == "folder") {
      all_[what].push_back(value);
    } else {
      all_[what] = value;
    }
  }
  void todo(const std::string& what) {
    if (first_.empty()) first_ = what;
  }
  // Prints the end. Returns the exit status.
  int finish() {
    if (json_) {
      all_["ready"] = first_.empty();
      all_["first"] = first_;
      fmt::print("{}\n", all_.dump(-1, Json::Utf8::replace));
    } else {
      fmt::print("{}\n", first_.empty() ? "ready" : "first: " + first_);
    }
    return first_.empty() ? 0 : 1;
  }

 private:
  bool json_;
  Json all_;           // entries shown several times are arrays
  std::string first_;  // the first recommended action
};

void find_build(Findings& f) {
  f.show("version", version());
  f.show("compiler", compiler());
#ifndef NDEBUG
  f.show("build", "for the debugger, slow");
#endif
  f.show("vectors", vectors());
  f.show("threads", std::to_string(num_threads()));
  cpu::GemmTuning tuning = cpu::gemm_tuning_of_caches(cpu::l1_bytes(), cpu::l2_bytes());
  const std::string tuned = cpu::gemm_tuning_path();
  const bool measured = !tuned.empty() && cpu::read_gemm_tuning(tuned, cpu::processor_name(), tuning);
  f.show("matmul", measured ? tuned : "settings by the sizes of caches; `pg tune` measures what is fastest");
  f.show("devices", "cpu");
}

void find_ranks(Findings& f) {
  const std::string mpi = mpi_version(), nccl = nccl_version();
  f.show("ranks", "shared memory");
  f.show("mpi", mpi.empty() ? "none; install libopenmpi-dev and openmpi-bin, and build again" : mpi);
  if (!nccl.empty()) f.show("nccl", nccl);
  try {
    if (const auto info = ranks_of_environment()) {
      f.show("started", fmt::format("rank {} of {} by {}", info->rank, info->size, info->source));
    }
  } catch (const Error& e) {
    f.show("started", e.what());
    f.todo(e.what());
  }
}

void find_data_and_folders(Findings& f) {
  const FetchPlaces places = FetchPlaces::from_environment();
  for (const auto& file : data_manifest()) {
    try {
      const std::string path = find_data(file, places);
      f.show("data", path.empty() ? file.name + " is not here yet; `pg fetch` gets it" : path);
    } catch (const Error& e) {
      f.show("data", e.what());
      f.todo(e.what());
    }
  }
  for (const std::string& folder : {places.cache, std::string("runs")}) {
    const bool ok = can_write(folder);
    f.show("folder", folder + (ok ? " can be written" : " cannot be written"));
    if (!ok) f.todo(fmt::format("make {} writable, or work in another folder", folder));
  }
}

int doctor(bool json) {
  Findings findings(json);
  find_build(findings);
  find_ranks(findings);
  find_data_and_folders(findings);
  return findings.finish();
}

}  // namespace

std::string version() { return POLICYGRAD_VERSION; }

Command doctor_command() {
  const auto json = std::make_shared<bool>(false);
  return {.name = "doctor",
          .about = "what the built engine sees; ends with `ready` or the first thing to do",
          .fields = {json_field(*json)},
          .run = [json](Given&) { return doctor(*json); }};
}

}  // namespace pg::tools
