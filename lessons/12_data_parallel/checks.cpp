// The checks of lesson 12: the table and the reference.
#include "lessons/12_data_parallel/checks.h"

namespace pg::lesson12 {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "12.1",
       .title = "a step of the reduce phase",
       .piece = kit::piece<&Impl::ring_reduce_step>("ring_reduce_step"),
       .section = "Around the ring",
       .why = "Every rank runs the same lines at the same time. A wrong neighbour, a wrong chunk or a wrong order of "
              "sending and receiving shows only with several ranks: as a wrong sum, or as silence.",
       .hints =
           {"Four ranks, step 1. Which chunk does rank 0 send, and which one comes to it? And if every rank first "
            "sends, "
            "who receives?",
            "Send chunk (r - s + n) % n; receive into a vector of the size of chunk (r - s - 1 + n) % n, and add it "
            "there. Even r: send, receive. Odd r: receive, send.",
            "Shard out = pg::shard_of(x.size(), (r - step + n) % n, n), and sum with one less. std::vector<float> "
            "received(sum.size()). if (r % 2 == 0) ring.send(x.subspan(out.begin, out.size())); "
            "ring.receive(received); if (r % 2 == 1) the same send. Then a loop of x[sum.begin + i] += received[i]."},
       .solution = {"tensor/comm/ring.cpp", "void ring_reduce_step("},
       .run = check_reduce_step},
      {.id = "12.2",
       .title = "a step of the gather phase",
       .piece = kit::piece<&Impl::ring_gather_step>("ring_gather_step"),
       .section = "Around the ring",
       .why =
           "After the reduce phase each rank holds one chunk of the sum, and not the one with its own number. A "
           "gather that begins with the wrong chunk spreads a partial sum, and every rank trains on another gradient.",
       .hints = {"Which chunk of rank r was the last to get an addition? It is the first that rank r may send.",
                 "Send chunk (r + 1 - s + n) % n; chunk (r - s + n) % n becomes what the left neighbour sends.",
                 "As in 12.1, with the numbers r + 1 - step and r - step, but ring.receive(x.subspan(...)) writes into "
                 "the chunk itself, and nothing is added. Even ranks send first, odd ranks receive first."},
       .solution = {"tensor/comm/ring.cpp", "void ring_gather_step("},
       .run = check_gather_step},
      {.id = "12.3",
       .title = "the mean over all tokens",
       .piece = kit::piece<&Impl::token_weighted_mean>("token_weighted_mean"),
       .section = "A mean of means is no mean",
       .why = "Texts differ in length, so ranks differ in tokens. The mean of the ranks' means trains on short texts "
              "more than on long ones. The loss falls all the same, so nobody notices.",
       .hints =
           {"Rank 0 has 1 token with loss 4, rank 1 has 3 tokens with loss 2 each. What is the mean of four losses?",
            "Σ tokens[r]·means[r] / Σ tokens[r]; a rank with 0 tokens is left out of both sums.",
            "A Tensor sum and an int64_t total. For each r with tokens[r] > 0: part = means[r] * "
            "static_cast<double>(tokens[r]); sum = sum.defined() ? sum + part : part; total += tokens[r]. check "
            "total > 0. Return sum / static_cast<double>(total)."},
       .solution = {"nn/ranks/data_parallel.cpp", "Tensor token_weighted_mean("},
       .run = check_token_mean,
       .harmless = {{"detached", "it averages what came from other processes, which no tape reaches"}}},
      {.id = "12.4",
       .title = "shards of uneven size",
       .piece = kit::piece<&Impl::shard_of>("shard_of"),
       .section = "Who owns what",
       .why = "Few numbers divide by the number of ranks. An element that belongs to nobody is never updated, one that "
              "belongs to two is added twice, and both give a model that learns, a little worse.",
       .hints =
           {"10 elements, 4 ranks: how many does each get if the sizes may differ by one? Where does rank 2's begin?",
            "units = n / unit, rounded up; each = units / ranks, longer = units % ranks; begin(r) = unit·(r·each + "
            "min(r, longer)), at most n; the shard is [begin(rank), begin(rank + 1)).",
            "A lambda begin(r): before = r * each + std::min<int64_t>(r, longer); n if before is units, else before * "
            "unit. Round up with n / unit + (n % unit > 0 ? 1 : 0), because n + unit might not fit."},
       .solution = {"tensor/comm/comm.cpp", "Shard shard_of("},
       .run = check_shard},
      {.id = "12.5",
       .title = "the order of the buckets",
       .piece = kit::piece<&Impl::gradient_buckets>("gradient_buckets"),
       .section = "While backward still computes",
       .why = "With the buckets in the wrong order every sum is right, every test passes, and each step waits for the "
              "network as if nothing ran at the same time.",
       .hints = {"Which parameters get their gradients first: those of the last block or those of the first? And what "
                 "of an embedding that is also the output head?",
                 "Go from the last segment to the first; range = [begin of the segment, begin of the range before); "
                 "close it when its elements · element_bytes >= least_bytes; what is left at 0 is a range too.",
                 "end = segments.back().end. For i from the last to 0: begin = segments[i].begin; if i > 0 and (end - "
                 "begin) * element_bytes < least_bytes, continue; push {begin, end}; end = begin."},
       .solution = {"nn/ranks/data_parallel.cpp", "std::vector<Shard> gradient_buckets("},
       .run = check_buckets,
       .harmless = {{"white space", "names are not read"},
                    {{"rank 0", "rank 4", "coprime sizes"},
                     "ranges depend on where a segment is, not on the parameter's shape"}}},
  };
}

Impl reference() {
  return {pg::ring_reduce_step, pg::ring_gather_step, pg::token_weighted_mean, pg::shard_of, pg::gradient_buckets};
}

}  // namespace pg::lesson12
