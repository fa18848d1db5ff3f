#include "smalti/kernels/tunable.h"

#include <algorithm>

#include "CallCache.h"
#include "ChosenBlocks.h"
#include "Rows.h"
#include "smalti/kernels/grouped_matmul.h"

namespace smalti::kernels {
namespace {

/// The block sizes to try along an axis; those of the axis' size and more become one, the whole axis.
std::vector<int64_t> along(int64_t size, std::initializer_list<int64_t> wanted) {
  std::vector<int64_t> out;
  for (const int64_t w : wanted) {
    const int64_t block = std::max<int64_t>(std::min(size, w), 1);
    if (std::find(out.begin(), out.end(), block) == out.end()) out.push_back(block);
  }
  return out;
}

/// All combinations; each once, in order.
std::vector<Candidate> combinations(const std::vector<std::pair<std::string, std::vector<int64_t>>>& axes) {
  std::vector<std::vector<Candidate::Size>> all{{}};
  for (const auto& [name, sizes] : axes) {
    std::vector<std::vector<Candidate::Size>> longer;
    for (const auto& head : all)
      for (const int64_t size : sizes) {
        longer.push_back(head);
        longer.back().emplace_back(name, size);
      }
    all = std::move(longer);
  }
  std::vector<Candidate> out;
  for (auto& sizes : all) out.emplace_back(std::move(sizes));
  return out;
}

/// The candidate that the kernel has without tuning comes first.
std::vector<Candidate> after(const Candidate& usual, std::vector<Candidate> others) {
  std::erase(others, usual);
  others.insert(others.begin(), usual);
  return others;
}

/// The key of candidates: what is found for a kernel with some options says nothing of it with others.
std::string named(std::string kernel, std::initializer_list<std::pair<bool, const char*>> options) {
  for (const auto& [is, option] : options)
    if (is) kernel.append(" ").append(option);
  return kernel;
}

/// One Autotuned per signature, so that results are kept.
template <class Make>
Autotuned once(const std::string& key, const Make& make) {
  static constinit CacheOf<Autotuned> all;
  return all.get(key, make);
}

std::vector<Candidate> rowCandidates(const ArrayType& x) {
  const Rows usual(x, {});
  return after(Candidate{{"block_rows", usual.block_rows}, {"block_columns", usual.block_columns}},
               combinations({{"block_rows", along(usual.rows, {8, 16, 32, 64, 128, 256, 512, 1024, 2048})},
                             {"block_columns", along(usual.columns, {2048, 8192, 32768})}}));
}
RowOptions rowOptions(const Candidate& c) { return {c["block_rows"], c["block_columns"]}; }

}  // namespace

Autotuned tuned_matmul(const ArrayType& x, const ArrayType& y, const MatmulOptions& options) {
  const int64_t m = dim(x, options.transpose_x ? 1 : 0), k = dim(x, options.transpose_x ? 0 : 1),
                n = dim(y, options.transpose_y ? 0 : 1);
  const Candidate usual{
      {"block_m", block_along(m, 512)}, {"block_n", block_along(n, 512)}, {"block_k", block_along(k, 512)}};
  const auto of = [&](std::vector<Candidate> candidates) {
    const std::string out = options.out_dtype ? " to " + std::string(name(*options.out_dtype)) : "";
    return autotune(std::move(candidates), named("matmul", {{options.transpose_x, "transpose_x"},
                                                            {options.transpose_y, "transpose_y"},
                                                            {static_cast<bool>(options.activation), "activation"}}) +
                                               out)([x, y, options](const Candidate& c) {
      MatmulOptions o = options;
      o.block_m = c["block_m"], o.block_n = c["block_n"], o.block_k = c["block_k"];
      return matmul_call(x, y, o);
    });
  };
  // Functions without an identity would be tuned again at every call.
  if (options.bias || options.activation.key().empty()) return of({usual});
  const auto make = [&] {
    return of(after(usual, combinations({{"block_m", along(m, {128, 256, 512, 1024, 2048})},
                                         {"block_n", along(n, {256, 512, 1024, 2048})},
                                         {"block_k", along(k, {256, 512, 1024, 2048})}})));
  };
  return once((Key() << "matmul" << x << y << options.transpose_x << options.transpose_y << options.activation.key()
                     << options.out_dtype.value_or(pred))
                  .str(),
              make);
}

Autotuned tuned_flash_attention(const ArrayType& q, const ArrayType& k, const AttentionOptions& options) {
  if (options.bias || options.query_segments || options.key_segments)
    raise({.code = "SM6701",
           .message = "tuned_flash_attention takes no bias and no segments",
           .place = {},
           .need = "causal or full attention",
           .have = options.bias ? "a bias" : "segments",
           .help = "call autotune with flash_attention_call and candidates of your own"});
  AttentionOptions given = options;
  given.block_q = given.block_k = 0;
  return once((Key() << "flash_attention" << q << k << options.causal << options.scale.value_or(0)
                     << options.scale.has_value() << options.log_sums)
                  .str(),
              [&] {
                const AttentionBlocks blocks = chosen_blocks(q, k, given);
                const Candidate usual{{"block_q", blocks.block_q}, {"block_k", blocks.block_k}};
                return autotune(
                    after(usual, combinations({{"block_q", along(dim(q, 2), {128, 256, 512, 1024, 2048})},
                                               {"block_k", along(dim(k, 2), {128, 256, 512, 1024, 2048})}})),
                    named("flash_attention", {{given.causal, "causal"}, {given.log_sums, "log_sums"}}))(
                    [q, k, given](const Candidate& c) {
                      AttentionOptions o = given;
                      o.block_q = c["block_q"], o.block_k = c["block_k"];
                      return flash_attention_call(q, k, o);
                    });
              });
}

Autotuned tuned_grouped_matmul(const ArrayType& x, const ArrayType& y) {
  return once((Key() << "grouped_matmul" << x << y).str(), [&] {
    const int64_t m = dim(x, 0), k = dim(x, 1), n = dim(y, 2);
    const GroupedMatmulOptions blocks = chosen_blocks(x, y, GroupedMatmulOptions());
    const Candidate usual{{"block_m", blocks.block_m}, {"block_n", blocks.block_n}, {"block_k", blocks.block_k}};
    return autotune(after(usual, combinations({{"block_m", along(m, {32, 64, 128, 256, 512})},
                                               {"block_n", along(n, {256, 512, 1024, 2048})},
                                               {"block_k", along(k, {512, 1024, k})}})),
                    "grouped_matmul")([](const Candidate& c, const std::vector<Operand>& operands) {
      const Array &x = operands.at(0).array(), &y = operands.at(1).array();
      const int64_t bm = c["block_m"];
      const GroupedTiles t = grouped_tiles(x.dim(0), bm, operands.at(2).array());
      const GroupedMatmulOptions o{bm, c["block_n"], c["block_k"]};
      return TunedCall{grouped_matmul_call(x.type(), y.type(), t, bm, o),
                       {t.group, t.row_block, t.row_begin, t.row_end, x, y}};
    });
  });
}

Autotuned tuned_softmax(const ArrayType& x) {
  return once((Key() << "softmax" << x).str(), [&] {
    return autotune(rowCandidates(x), "softmax")([x](const Candidate& c) { return softmax_call(x, rowOptions(c)); });
  });
}

Autotuned tuned_layer_norm(const ArrayType& x, float epsilon) {
  return once((Key() << "layer_norm" << x << epsilon).str(), [&] {
    return autotune(rowCandidates(x), "layer_norm")(
        [x, epsilon](const Candidate& c) { return layer_norm_call(x, {rowOptions(c), epsilon}); });
  });
}

Autotuned tuned_rms_norm(const ArrayType& x, float epsilon) {
  return once((Key() << "rms_norm" << x << epsilon).str(), [&] {
    return autotune(rowCandidates(x), "rms_norm")(
        [x, epsilon](const Candidate& c) { return rms_norm_call(x, {rowOptions(c), epsilon}); });
  });
}

std::span<const Tunable> tunables() {
  using Types = std::span<const ArrayType>;
  // As many rows for each group as there can be.
  static const auto equalGroups = [](std::span<Array> operands) {
    Array& sizes = operands[2];
    if (sizes.dtype() != i32 || sizes.elements() == 0) return;
    const int64_t rows = operands[0].dim(0) / sizes.elements();
    std::fill_n(sizes.as<int32_t>(), sizes.elements(), static_cast<int32_t>(rows));
  };
  // Never destroyed, as the values of caches (CallCache.h).
  static const auto& kAll = *new std::vector<Tunable>{
      {"matmul", "x [m, k], y [k, n]", 2, [](Types t) { return tuned_matmul(t[0], t[1]); }},
      {"flash_attention", "q [batch, heads, queries, size], k and v [batch, key heads, keys, size]", 3,
       [](Types t) { return tuned_flash_attention(t[0], t[1]); }},
      {"grouped_matmul", "x [m, k], y [groups, k, n], group sizes i32 [groups]", 3,
       [](Types t) { return tuned_grouped_matmul(t[0], t[1]); }, equalGroups},
      {"softmax", "x [rows, columns]", 1, [](Types t) { return tuned_softmax(t[0]); }},
      {"layer_norm", "x [rows, columns], scale and shift [1, columns]", 3,
       [](Types t) { return tuned_layer_norm(t[0]); }},
      {"rms_norm", "x [rows, columns], scale [1, columns]", 2, [](Types t) { return tuned_rms_norm(t[0]); }},
  };
  return kAll;
}

}  // namespace smalti::kernels
