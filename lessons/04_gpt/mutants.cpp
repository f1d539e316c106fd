// Wrong answers to lesson 4. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/04_gpt/answers.h"

namespace pg::lesson04 {

const kit::Mutants<Impl> mutants = {
    {"attention_mask_transposed", "04.1", "the mask is transposed",
     [](Impl& m) {
       m.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(q.size(3))));
         const Tensor position = Tensor::arange(t, q.dtype());
         const Tensor past = ge(position, unsqueeze(position, 1));
         const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
         return matmul(softmax(masked), v);
       };
     }},
    {"attention_no_scale", "04.1", "the scale 1/√D is missing",
     [](Impl& m) {
       m.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         const Tensor scores = matmul(q, transpose(k)) * 1.0;
         const Tensor position = Tensor::arange(t, q.dtype());
         const Tensor past = le(position, unsqueeze(position, 1));
         const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
         return matmul(softmax(masked), v);
       };
     }},
    {"attention_one_over_d", "04.1", "1/D in place of",
     [](Impl& m) {
       m.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         const Tensor scores = matmul(q, transpose(k)) * (1 / static_cast<double>(q.size(3)));
         const Tensor position = Tensor::arange(t, q.dtype());
         const Tensor past = le(position, unsqueeze(position, 1));
         const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
         return matmul(softmax(masked), v);
       };
     }},
    {"attention_sees_future", "04.1", "nothing is masked",
     [](Impl& m) {
       m.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(q.size(3))));
         const Tensor position = Tensor::arange(t, q.dtype());
         const Tensor past = ge(position, position);
         const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
         return matmul(softmax(masked), v);
       };
     }},
    {"attention_softmax_axis", "04.1", "the softmax runs over the queries",
     [](Impl& m) {
       m.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(q.size(3))));
         const Tensor position = Tensor::arange(t, q.dtype());
         const Tensor past = le(position, unsqueeze(position, 1));
         const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
         return matmul(softmax(masked, -2), v);
       };
     }},
    {"backward_diagonal", "04.2", "only the diagonal",
     [](Impl& m) {
       m.attention_backward = [](const Tensor& dout, const Tensor& q, const Tensor& k,
                                 const Tensor& v) -> AttentionGrads {
         const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
         const Tensor p = attention_weights(q, k);
         const Tensor dp = matmul(dout, transpose(v));
         const Tensor ds = p * dp * scale;
         return {matmul(ds, k), matmul(transpose(ds), q), matmul(transpose(p), dout)};
       };
     }},
    {"backward_exchanged", "04.2", "dq and dk are exchanged",
     [](Impl& m) {
       m.attention_backward = [](const Tensor& dout, const Tensor& q, const Tensor& k,
                                 const Tensor& v) -> AttentionGrads {
         const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
         const Tensor p = attention_weights(q, k);
         const Tensor dp = matmul(dout, transpose(v));
         const Tensor ds = p * (dp - sum(dp * p, {-1}, true)) * scale;
         return {matmul(transpose(ds), q), matmul(ds, k), matmul(transpose(p), dout)};
       };
     }},
    {"backward_no_scale", "04.2", "the scale 1/√D is missing",
     [](Impl& m) {
       m.attention_backward = [](const Tensor& dout, const Tensor& q, const Tensor& k,
                                 const Tensor& v) -> AttentionGrads {
         const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
         const Tensor p = attention_weights(q, k);
         const Tensor dp = matmul(dout, transpose(v));
         const Tensor ds = p * (dp - sum(dp * p, {-1}, true)) * (scale / scale);
         return {matmul(ds, k), matmul(transpose(ds), q), matmul(transpose(p), dout)};
       };
     }},
    {"backward_p_untransposed", "04.2", "p is not transposed",
     [](Impl& m) {
       m.attention_backward = [](const Tensor& dout, const Tensor& q, const Tensor& k,
                                 const Tensor& v) -> AttentionGrads {
         const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
         const Tensor p = attention_weights(q, k);
         const Tensor dp = matmul(dout, transpose(v));
         const Tensor ds = p * (dp - sum(dp * p, {-1}, true)) * scale;
         return {matmul(ds, k), matmul(transpose(ds), q), matmul(p, dout)};
       };
     }},
    {"backward_sign", "04.2", "the sign is flipped",
     [](Impl& m) {
       m.attention_backward = [](const Tensor& dout, const Tensor& q, const Tensor& k,
                                 const Tensor& v) -> AttentionGrads {
         const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
         const Tensor p = attention_weights(q, k);
         const Tensor dp = matmul(dout, transpose(v));
         const Tensor ds = p * (dp - sum(dp * p, {-1}, true)) * scale;
         return {neg(matmul(ds, k)), matmul(transpose(ds), q), matmul(transpose(p), dout)};
       };
     }},
    {"decode_at_zero", "04.5", "at the start of the cache",
     [](Impl& m) {
       m.decode = [](const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         for (int64_t b = 0; b < q.size(0); ++b) {
           const int64_t start = 0;
           slot.k.view_select(0, b).view_slice(1, start, start + t).copy_from(k.view_select(0, b));
           slot.v.view_select(0, b).view_slice(1, start, start + t).copy_from(v.view_select(0, b));
         }
         AttentionOptions options;
         options.kv_len = slot.after;
         return pg::attention(q, slot.k, slot.v, options);
       };
     }},
    {"decode_forgets", "04.5", "the new positions are not in the cache",
     [](Impl& m) {
       m.decode = [](const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const KvSlot copy{slot.k.clone(), slot.v.clone(), slot.before, slot.after};
         copy.store(k, v);
         AttentionOptions options;
         options.kv_len = slot.after;
         return pg::attention(q, copy.k, copy.v, options);
       };
     }},
    {"decode_reads_all", "04.5", "the unused room",
     [](Impl& m) {
       m.decode = [](const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         for (int64_t b = 0; b < q.size(0); ++b) {
           const int64_t start = slot.before.data<int32_t>()[static_cast<size_t>(b)];
           slot.k.view_select(0, b).view_slice(1, start, start + t).copy_from(k.view_select(0, b));
           slot.v.view_select(0, b).view_slice(1, start, start + t).copy_from(v.view_select(0, b));
         }
         AttentionOptions options;
         return pg::attention(q, slot.k, slot.v, options);
       };
     }},
    {"decode_row_zero", "04.5", "each row has its own",
     [](Impl& m) {
       m.decode = [](const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) -> Tensor {
         const int64_t t = q.size(2);
         for (int64_t b = 0; b < q.size(0); ++b) {
           const int64_t start = slot.before.data<int32_t>()[0];
           slot.k.view_select(0, b).view_slice(1, start, start + t).copy_from(k.view_select(0, b));
           slot.v.view_select(0, b).view_slice(1, start, start + t).copy_from(v.view_select(0, b));
         }
         AttentionOptions options;
         options.kv_len = slot.after;
         return pg::attention(q, slot.k, slot.v, options);
       };
     }},
    {"init_constant", "04.4", "all numbers are equal",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double writer = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
             const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
             const double std = name.ends_with("c_proj.weight") ? writer : reader;
             parameter.copy_from(Tensor::full(parameter.shape(), std));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"init_flat", "04.4", "what writes into the stream needs",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const bool writer = name.ends_with("c_proj.weight");
             const double std = name.starts_with("h.") && !writer ? model.config.in_proj_std : 0.02;
             parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"init_narrow", "04.4", "what reads the stream starts at",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double layers = static_cast<double>(model.config.n_layer);
             const double std = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(2 * layers) : 0.02;
             parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"init_norm_zero", "04.4", "yours is all zeros",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double writer = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
             const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
             const double std = name.ends_with("c_proj.weight") ? writer : reader;
             parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
           } else {
             parameter.fill(0);
           }
         }
       };
     }},
    {"init_one_write", "04.4", "every layer writes twice",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double writer = 0.02 / std::sqrt(static_cast<double>(model.config.n_layer));
             const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
             const double std = name.ends_with("c_proj.weight") ? writer : reader;
             parameter.copy_from(Tensor::normal(parameter.shape(), 0, std, generator));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"init_uniform", "04.4", "uniform",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double writer = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
             const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
             const double std = name.ends_with("c_proj.weight") ? writer : reader;
             parameter.copy_from(
                 Tensor::uniform(parameter.shape(), -std * std::sqrt(3.0), std * std::sqrt(3.0), generator));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"init_variance", "04.4", "not the variance",
     [](Impl& m) {
       m.init_weights = [](Transformer& model, Generator& generator) -> void {
         for (auto& [name, parameter] : named_parameters(model)) {
           if (parameter.rank() == 2) {
             const double writer = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
             const double reader = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
             const double std = name.ends_with("c_proj.weight") ? writer : reader;
             parameter.copy_from(Tensor::normal(parameter.shape(), 0, std::sqrt(std), generator));
           } else {
             parameter.fill(name.ends_with(".weight") ? 1 : 0);
           }
         }
       };
     }},
    {"norm_constants", "04.3", "taken for constants",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = dxhat * rstd;
         return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
       };
     }},
    {"norm_db_mean", "04.3", "mean over the rows",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = (dxhat - mean(dxhat, {-1}, true) - xhat * mean(dxhat * xhat, {-1}, true)) * rstd;
         return {dx, sum(dy * xhat, {0}), mean(dy, {0})};
       };
     }},
    {"norm_dw_x", "04.3", "dy is multiplied by x",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = (dxhat - mean(dxhat, {-1}, true) - xhat * mean(dxhat * xhat, {-1}, true)) * rstd;
         return {dx, sum(dy * x, {0}), sum(dy, {0})};
       };
     }},
    {"norm_no_deviation", "04.3", "the path through the deviation is missing",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = (dxhat - mean(dxhat, {-1}, true)) * rstd;
         return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
       };
     }},
    {"norm_no_mean", "04.3", "the path through the mean is missing",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = (dxhat - xhat * mean(dxhat * xhat, {-1}, true)) * rstd;
         return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
       };
     }},
    {"norm_no_rstd", "04.3", "is missing",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * w;
         const Tensor dx = (dxhat - mean(dxhat, {-1}, true) - xhat * mean(dxhat * xhat, {-1}, true));
         return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
       };
     }},
    {"norm_no_w", "04.3", "w is missing",
     [](Impl& m) {
       m.layer_norm_backward = [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) -> LayerNormGrads {
         const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
         const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
         const Tensor dxhat = dy * (w / w);
         const Tensor dx = (dxhat - mean(dxhat, {-1}, true) - xhat * mean(dxhat * xhat, {-1}, true)) * rstd;
         return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
       };
     }},
};

}  // namespace pg::lesson04
