// pg doctor: compiler, processor, memory, devices.
#include <unistd.h>

#include <filesystem>

#include "tasks/data/fetch.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/parallel.h"
#include "tensor/comm/mpi_links.h"
#include "tensor/comm/nccl_rank.h"
#include "tensor/comm/start.h"
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

int doctor(bool json) {
  Json all;  // entries shown several times are arrays
  const auto show = [&](const std::string& what, const std::string& value) {
    if (!json) {
      fmt::print("{:<10} {}\n", what, value);
    } else if (what == "data" || what == "folder") {
      all[what].push_back(value);
    } else {
      all[what] = value;
    }
  };
  std::string first;  // the first recommended action
  const auto todo = [&](const std::string& what) {
    if (first.empty()) first = what;
  };
  show("version", version());
  show("compiler", compiler());
#ifndef NDEBUG
  show("build", "for the debugger, slow");
#endif
  show("vectors", vectors());
  show("threads", std::to_string(num_threads()));
  cpu::GemmTuning tuning = cpu::gemm_tuning_of_caches(cpu::l1_bytes(), cpu::l2_bytes());
  const std::string tuned = cpu::gemm_tuning_path();
  const bool measured = !tuned.empty() && cpu::read_gemm_tuning(tuned, cpu::processor_name(), tuning);
  show("matmul", measured ? tuned : "settings by the sizes of caches; `pg tune` measures what is fastest");
  show("devices", "cpu");
  const std::string mpi = mpi_version(), nccl = nccl_version();
  show("ranks", "shared memory");
  show("mpi", mpi.empty() ? "none; install libopenmpi-dev and openmpi-bin, and build again" : mpi);
  if (!nccl.empty()) show("nccl", nccl);
  try {
    if (const auto info = ranks_of_environment()) {
      show("started", fmt::format("rank {} of {} by {}", info->rank, info->size, info->source));
    }
  } catch (const Error& e) {
    show("started", e.what());
    todo(e.what());
  }

  const FetchPlaces places = FetchPlaces::from_environment();
  for (const auto& file : data_manifest()) {
    try {
      const std::string path = find_data(file, places);
      show("data", path.empty() ? file.name + " is not here yet; `pg fetch` gets it" : path);
    } catch (const Error& e) {
      show("data", e.what());
      todo(e.what());
    }
  }
  for (const std::string& folder : {places.cache, std::string("runs")}) {
    const bool ok = can_write(folder);
    show("folder", folder + (ok ? " can be written" : " cannot be written"));
    if (!ok) todo(fmt::format("make {} writable, or work in another folder", folder));
  }
  if (json) {
    all["ready"] = first.empty();
    all["first"] = first;
    fmt::print("{}\n", all.dump(-1, Json::Utf8::replace));
    return first.empty() ? 0 : 1;
  }
  fmt::print("{}\n", first.empty() ? "ready" : "first: " + first);
  return first.empty() ? 0 : 1;
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
