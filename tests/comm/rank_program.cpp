// One rank of a group that the environment describes; tests/comm/mpi.sh and environment.sh start several. The word
// says what it does: "sums" checks collectives, "elements", "few" and "many" do so too, as if every rank were on a
// machine of its own, and every other one is a mischief of rank 1 that the others must survive.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/comm/launch.h"

using namespace pg;

namespace {

std::vector<float> values_of(int rank, int64_t n) {
  Generator generator(1000 + static_cast<uint64_t>(rank));
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) {
    x = static_cast<float>((generator.uniform() - 0.5) * static_cast<double>(1 << generator.integer(24)));
  }
  return values;
}

void sums(Comm& comm, int64_t most) {
  for (const int64_t n : {0, 1, 2, 3, 1000, 300000, 3000001}) {
    if (n > most) break;
    std::vector<float> sum = values_of(0, n);
    for (int r = 1; r < comm.size(); ++r) {
      const std::vector<float> term = values_of(r, n);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
    const auto same = [&](const Tensor& x, const char* what) {
      check(n == 0 || std::memcmp(x.data<float>().data(), sum.data(), sum.size() * sizeof(float)) == 0,
            "{} of {}: the bits differ", what, n);
    };
    const Tensor x = Tensor::from(values_of(comm.rank(), n), {n}), y = x.clone();
    comm.all_reduce(x);
    same(x, "all_reduce");
    const auto first = comm.start_reduce_scatter(y), second = comm.start_all_gather(y);
    comm.wait(second);
    comm.wait(first);
    same(y, "reduce_scatter and all_gather");
    const Tensor z = comm.rank() == comm.size() - 1 ? x : Tensor::zeros({n});
    comm.broadcast(z, comm.size() - 1);
    same(z, "broadcast");
    comm.barrier();
  }
}

int mischief(Comm& comm, const std::string& what) {
  const Tensor x = Tensor::ones({1000});
  comm.barrier();
  comm.all_reduce(x);
  if (comm.rank() == 1) {
    if (what == "returns") return 0;
    if (what == "throws") fail("the moon is full");
    if (what == "hangs") sleep(8);
    if (what == "killed") raise(SIGKILL);
    if (what == "differs") comm.all_reduce(Tensor::ones({999}));
    fail("no such mischief: {}", what);
  }
  comm.all_reduce(x);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "sums";
  std::unique_ptr<Comm> comm;
  std::string text;
  int status = 1;
  try {
    const bool few = what == "few" || what == "many", machines = few || what == "elements";
    comm = comm_of_environment(
        {.timeout = 2, .connect_timeout = 5, .sees_processes = !machines, .carries_elements = !few});
    check(comm != nullptr, "this process was started alone");
    text = fmt::format("{} of {} by {}: done", comm->rank(), comm->size(), comm->name());
    if (what != "sums" && !machines) {
      status = mischief(*comm, what);
    } else {
      sums(*comm, few ? 1000 : INT64_MAX);
      if (what == "many") comm->all_reduce(Tensor::ones({1 << 16}));
      status = 0;
    }
  } catch (const std::exception& e) {
    if (comm) comm->abandon(e.what());
    text = e.what();
  }
  fmt::print("rank program: {}\n", text);
  return status;
}
