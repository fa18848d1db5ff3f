#include "Cases.h"
#include "smalti/kernels/norm.h"
#include "smalti/kernels/softmax.h"

namespace smalti::kernels::test {
namespace {

/// [rows, columns] of x, as the calls take it.
Array matrix(const Array& x) { return unwrap(x.reshaped({x.elements() / x.dim(-1), x.dim(-1)})); }

void addRows(Cases& cases, const std::string& name, const Array& x, RowOptions o = {}, bool exportable = true) {
  const std::string suffix = "_" + name;
  const Array flat = matrix(x);
  cases.add({"softmax" + suffix,
             "softmax",
             nlohmann::json::object(),
             {x},
             [=] { return softmax(x, o); },
             softmax_call(flat.type(), o),
             {flat},
             exportable});

  NormOptions norm;
  norm.block_rows = o.block_rows, norm.block_columns = o.block_columns;
  const Array far = x + 3, flat_far = matrix(far), scale = cases.random(f32, {x.dim(-1)}),
              shift = cases.random(f32, {x.dim(-1)});
  const Array scale_row = unwrap(scale.reshaped({1, x.dim(-1)})), shift_row = unwrap(shift.reshaped({1, x.dim(-1)}));
  cases.add({"layer_norm" + suffix,
             "layer_norm",
             {{"epsilon", norm.epsilon}},
             {far, scale, shift},
             [=] { return layer_norm(far, scale, shift, norm); },
             layer_norm_call(flat_far.type(), norm),
             {flat_far, scale_row, shift_row},
             exportable});
  norm.epsilon = 1e-6f;
  cases.add({"rms_norm" + suffix,
             "rms_norm",
             {{"epsilon", norm.epsilon}},
             {x, scale},
             [=] { return rms_norm(x, scale, norm); },
             rms_norm_call(flat.type(), norm),
             {flat, scale_row},
             exportable});
}

}  // namespace

void rowCases(Cases& cases) {
  addRows(cases, "f32", cases.random(f32, {64, 384}, 4));
  addRows(cases, "bf16", cases.random(bf16, {64, 256}, 4));
  addRows(cases, "rank3", cases.random(f32, {3, 20, 100}, 4));
  addRows(cases, "rows_hang_over", cases.random(f32, {37, 200}, 4), {.block_rows = 16});
  addRows(cases, "split", cases.random(f32, {24, 512}, 4), {.block_rows = 8, .block_columns = 128});
  addRows(cases, "split_hangs_over", cases.random(f32, {20, 300}, 4), {.block_rows = 8, .block_columns = 128});
  addRows(cases, "split_bf16", cases.random(bf16, {32, 400}, 4), {.block_rows = 16, .block_columns = 128});
  addRows(cases, "one_row", cases.random(f32, {1, 1000}));
  addRows(cases, "one_column", cases.random(f32, {9, 1}));
  addRows(cases, "odd_blocks", cases.random(f32, {11, 23}), {.block_rows = 3, .block_columns = 7}, false);
}

}  // namespace smalti::kernels::test
