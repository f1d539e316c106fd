// The demonstration of lesson 13, second part: what a model remembers of a token.
#include "lessons/13_positions/lesson.h"
#include "lessons/13_positions/models.h"

namespace pg::lesson13 {
namespace {

void show_cache(kit::Demo& demo, const std::string& name, TransformerConfig config, TransformerConfig whole) {
  const double bytes = cache_bytes_per_token(config), all = cache_bytes_per_token(whole);
  demo.line("{:44} {:>9} {:>9}   1/{:.0f}", name, grouped(bytes), grouped(all), all / bytes);
}

}  // namespace

void show_sharing(kit::Demo& demo, const Impl& impl) {
  demo.heading("Fewer heads to remember");
  NoGrad guard;
  demo.line("queries           0 1 2 3        0 1 2 3        0 1 2 3");
  demo.line("                  | | | |        |/  |/         |/_/_/");
  demo.line("keys and values   0 1 2 3        0   1          0");
  demo.gap();
  const TransformerConfig four{.n_layer = 2, .n_head = 4, .n_embd = 64};
  TransformerConfig two = four, one = four;
  two.n_kv_head = 2;
  one.n_kv_head = 1;
  const TransformerConfig llama_all{.n_layer = 32, .n_head = 32, .n_embd = 4096, .dtype = bf16};
  TransformerConfig llama_3 = llama_all;
  llama_3.n_kv_head = 8;
  demo.say(
      "Heads of queries may share a head of keys and values, and then the cache has fewer of them. Bytes that are "
      "remembered of each token, this way and with keys and values of every head:");
  demo.line("{:44} {:>9} {:>9}   part", "", "this way", "each head");
  show_cache(demo, "ours, 4 heads of queries, 2 of keys", two, four);
  show_cache(demo, "ours, 4 heads of queries, 1 of keys", one, four);
  show_cache(demo, "Llama 3 8B, 32 heads of queries, 8 of keys", llama_3, llama_all);
  demo.gap();
  demo.claim("cache, 4 heads of keys over 1", cache_bytes_per_token(four) / cache_bytes_per_token(one), "x",
             kit::equals(4));
  Generator random(133);
  const auto heads = [&](int64_t n) { return Tensor::normal({2, n, 20, 16}, 0, 1, random); };
  const Tensor q = heads(6), k = heads(2), v = heads(2);
  const Tensor copied = attention(q, impl.repeat_heads(k, 6), impl.repeat_heads(v, 6));
  demo.claim("6 heads share 2 or read copies: difference", relative_difference(copied, attention(q, k, v)), "",
             kit::at_most(1e-6));
}

}  // namespace pg::lesson13
