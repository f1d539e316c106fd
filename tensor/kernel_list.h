// The functions that a backend consists of, and its table; included inside the namespace of each (pg::cpu, pg::cuda),
// so without #pragma once. Shapes and meaning stand in tensor/kernels.h; a comment names the file that defines what
// follows.

// copy
void copy(const View& y, const View& x);
void fill(const View& y, double value);
void accumulate(const View& y, const View& x, double beta);
// random
void random_uniform(const View& y, double low, double high, uint64_t seed, uint64_t offset);
void random_normal(const View& y, double mean, double std, uint64_t seed, uint64_t offset);
void dropout(const View& y, const View& x, double p, uint64_t seed, uint64_t offset, double beta);
// elementwise
void unary(Unary op, const View& y, const View& x, Scalars s);
void unary_backward(Unary op, const View& dx, const View& dy, const View& x, const View& y, Scalars s, double beta);
void binary(Binary op, const View& z, const View& x, const View& y);
void binary_backward(Binary op, int side, const View& d, const View& dz, const View& x, const View& y, double beta);
void where(const View& z, const View& condition, const View& x, const View& y);
// reduce
void reduce(Reduce op, const View& y, const View& x, double divisor, double beta);
void cumsum(const View& y, const View& x, int dim, bool reverse, double beta);
void argmax(const View& index, const View& x);
void sum_of_squares(const View& y, const View& x);
// index
void gather(const View& y, const View& x, const View& index, int dim);
void scatter_add(const View& y, const View& index, const View& x, int dim);
void embedding(const View& y, const View& w, const View& ids);
void embedding_backward(const View& dw, const View& dy, const View& ids, double beta);
// softmax
void softmax(const View& y, const View& x, bool log);
void softmax_backward(const View& dx, const View& dy, const View& y, bool log, double beta);
// cross_entropy
void cross_entropy(const View& loss, const View& stats, const View& logits, const View& targets,
                   const CrossEntropyArgs& args);
void cross_entropy_backward(const View& dlogits, const View& dloss, const View& logits, const View& stats,
                            const View& targets, const CrossEntropyArgs& args, double beta);
void token_log_prob(const View& log_prob, const View& entropy, const View& stats, const View& logits, const View& ids);
void token_log_prob_backward(const View& dlogits, const View& dlog_prob, const View& dentropy, const View& logits,
                             const View& stats, const View& entropy, const View& ids, double beta);
// norm
void layer_norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
                const View& w, const View& b, double eps);
void layer_norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                         const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b);
void rms_norm(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
              double eps);
void rms_norm_backward(const View& dx, const View& dw, const View& dy, const View& x, const View& w, const View& rstd,
                       double beta_x, double beta_w);
// rope
void rope(const View& y, const View& x, const RopeArgs& args, double beta);
// matmul
void matmul(const View& c, const View& a, const View& b, const MatmulArgs& args);
// attention, attention_backward
void attention(const View& out, const View& lse, const View& q, const View& k, const View& v,
               const AttentionArgs& args);
void attention_backward(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                        const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                        double beta);
// kv_append, sample
void kv_append(const View& k, const View& v, const View& new_k, const View& new_v, const View& starts);
void sample(const View& ids, const View& logits, const View& u, const SampleOptions& options);
// adamw
void adamw(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args);

// In the order of Kernels: a forgotten entry is a compiler warning, and warnings are errors.
inline constexpr Kernels kTable = {
    .copy = copy,
    .fill = fill,
    .accumulate = accumulate,
    .random_uniform = random_uniform,
    .random_normal = random_normal,
    .unary = unary,
    .unary_backward = unary_backward,
    .binary = binary,
    .binary_backward = binary_backward,
    .where = where,
    .dropout = dropout,
    .reduce = reduce,
    .cumsum = cumsum,
    .argmax = argmax,
    .sum_of_squares = sum_of_squares,
    .gather = gather,
    .scatter_add = scatter_add,
    .embedding = embedding,
    .embedding_backward = embedding_backward,
    .matmul = matmul,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
    .token_log_prob = token_log_prob,
    .token_log_prob_backward = token_log_prob_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .attention = attention,
    .attention_backward = attention_backward,
    .rope = rope,
    .kv_append = kv_append,
    .sample = sample,
    .adamw = adamw,
};
