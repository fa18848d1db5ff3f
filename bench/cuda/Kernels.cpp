// bench_cuda_kernels FOLDER: writes the kernels of bench/cuda/speed.py as bare modules, since TPUs do not support most
// of their blocks: one file for each size and choice of blocks, and rows.json, which describes them. Nothing is run.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/gradients.h"
#include "smalti/kernels/grouped_matmul.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/norm.h"
#include "smalti/kernels/paged_attention.h"
#include "smalti/kernels/softmax.h"
#include "smalti/smalti.h"

namespace {

using namespace smalti;
using namespace smalti::kernels;
using nlohmann::json;

std::filesystem::path folder;
json rows = json::array();

int64_t nothing = 0;

/// An operand of which only the type is used.
Array typed(DType dtype, Shape shape) { return Array::view({dtype, std::move(shape)}, &nothing); }

/// Adds a choice of blocks to the last row, for one part of its computation. Operands of i32 whose elements matter come
/// first; `gridSizes`: of dynamic axes, which the module takes before them.
void choose(const std::string& part, const std::string& blocks, const PallasCall& call,
            const std::vector<Operand>& operands, const std::vector<ArrayType>& results,
            const std::vector<Operand>& gridSizes = {}) {
  json& row = rows.back();
  const std::string file = std::to_string(rows.size()) + "-" + std::to_string(row["modules"].size()) + ".mlir";
  const auto text = attempt([&] { return call.lower_all(operands).mosaic(); });
  if (!text) {
    std::cerr << row["name"] << ", " << blocks << ":\n" << text.error().str() << '\n';
    return;
  }
  std::ofstream(folder / file) << *text;
  json arguments = json::array(), values = json::array();
  for (const auto* list : {&gridSizes, &operands})
    for (const Operand& operand : *list) {
      const Array& a = operand.array();
      arguments.push_back(a.type().str());
      if (static_cast<const void*>(a.data()) != &nothing)
        values.push_back(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + a.elements()));
    }
  json types = json::array();
  for (const ArrayType& result : results) types.push_back(result.str());
  row["modules"].push_back({{"part", part},
                            {"file", file},
                            {"blocks", blocks},
                            {"given", values},
                            {"arguments", arguments},
                            {"results", types}});
}

/// A choice for the whole computation, which has one result.
void choose(const std::string& blocks, const PallasCall& call, const std::vector<Operand>& operands,
            const ArrayType& result, const std::vector<Operand>& gridSizes = {}) {
  choose("", blocks, call, operands, std::vector{result}, gridSizes);
}

void addRow(const std::string& kind, const std::string& name, json sizes) {
  rows.push_back({{"kind", kind}, {"name", name}, {"sizes", std::move(sizes)}, {"modules", json::array()}});
}

std::string joined(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (const int64_t s : sizes) text += (text.empty() ? "" : " × ") + std::to_string(s);
  return text;
}

void addMatmul(DType dtype, int64_t m, int64_t n, int64_t k) {
  const bool small = bit_width(dtype) == 8;
  const std::string type(name(dtype));
  addRow("matmul", type + " " + joined({m, n, k}), {{"dtype", type}, {"m", m}, {"n", n}, {"k", k}});
  const ArrayType x{dtype, {m, k}}, y{dtype, small ? Shape{n, k} : Shape{k, n}};
  const int64_t depth = small ? 128 : 64;
  for (const auto& [bm, bn] : {std::pair<int64_t, int64_t>{128, 256}, {256, 128}, {128, 128}}) {
    const MatmulOptions o{.transpose_y = small, .out_dtype = bf16, .block_m = bm, .block_n = bn, .block_k = depth};
    choose(joined({bm, bn, depth}), matmul_call(x, y, o), {typed(x.dtype, x.shape), typed(y.dtype, y.shape)},
           {bf16, {m, n}});
  }
}

/// Rows of groups of different sizes, most of which share a block of rows with the next group.
void addGrouped(int64_t m, int64_t n, int64_t k, int64_t groups) {
  std::vector<int32_t> sizes;
  for (int64_t g = 0; g < groups; ++g)
    sizes.push_back(static_cast<int32_t>(m / groups + (g % 2 == 0 ? 1 : -1) * (m / groups / 3)));
  addRow("grouped", "grouped bf16 " + joined({m, n, k}) + ", " + std::to_string(groups) + " groups",
         {{"m", m}, {"n", n}, {"k", k}, {"group_sizes", sizes}});
  const ArrayType x{bf16, {m, k}}, y{bf16, {groups, k, n}};
  for (const auto& [bm, bn] : {std::pair<int64_t, int64_t>{128, 256}, {256, 128}, {128, 128}}) {
    const GroupedMatmulOptions o{.block_m = bm, .block_n = bn, .block_k = 64};
    const GroupedTiles tiles = grouped_tiles(m, bm, array(sizes));
    choose(joined({bm, bn, 64}), grouped_matmul_call(x, y, tiles, bm, o),
           {tiles.group, tiles.row_block, tiles.row_begin, tiles.row_end, typed(x.dtype, x.shape),
            typed(y.dtype, y.shape)},
           {bf16, {m, n}}, {tiles.count});
  }
}

/// Adds a row of attention of a kind; returns the type of queries, keys and values.
ArrayType addAttentionRow(const std::string& kind, DType dtype, int64_t size, int64_t length, bool causal) {
  const int64_t heads = 2048 / size, batch = std::max<int64_t>(16384 / length, 1);
  const std::string type(name(dtype));
  addRow(kind,
         type + " " + kind + " D=" + std::to_string(size) + " " + std::to_string(length) + (causal ? " causal" : ""),
         {{"dtype", type}, {"batch", batch}, {"heads", heads}, {"length", length}, {"size", size}, {"causal", causal}});
  return {dtype, {batch, heads, length, size}};
}

void addAttention(DType dtype, int64_t size, int64_t length, bool causal) {
  const ArrayType q = addAttentionRow("attention", dtype, size, length, causal);
  const Array array = typed(q.dtype, q.shape);
  for (const auto& [bq, bk] : {std::pair<int64_t, int64_t>{128, 128}, {256, 64}, {64, 128}, {128, 64}, {64, 64}})
    choose(joined({bq, bk}), flash_attention_call(q, q, {.causal = causal, .block_q = bq, .block_k = bk}),
           {array, array, array}, q);
}

/// sum(x * y) along the last dimension.
PallasCall products_of_rows(const ArrayType& x, int64_t block) {
  const auto index = [](auto b, auto h, auto i) { return std::tuple{b, h, i, 0}; };
  const BlockSpec spec{{squeezed, squeezed, block, x.shape[3]}, index};
  return pallas_call(
      [](Ref x, Ref y, Ref o) { o[_] = sum(astype(x[_], f32) * astype(y[_], f32), {.axes = {1}, .keepdims = true}); },
      Call{.out_shape = ShapeDtype{{x.shape[0], x.shape[1], x.shape[2], 1}, f32},
           .grid = {x.shape[0], x.shape[1], cdiv(x.shape[2], block)},
           .in_specs = {spec, spec},
           .out_specs = {{{squeezed, squeezed, block, 1}, index}},
           .name = "products_of_rows",
           .compiler_params = {.dimension_semantics = {parallel, parallel, parallel}}});
}

/// The three kernels of the backward pass, each with its own choices.
void addAttentionBackward(int64_t size, int64_t length, bool causal) {
  const ArrayType q = addAttentionRow("attention backward", bf16, size, length, causal);
  const int64_t batch = q.shape[0], heads = q.shape[1];
  const Array array = typed(q.dtype, q.shape), column = typed(f32, {batch, heads, length, 1}),
              row = typed(f32, {batch, heads, 1, length});
  for (const int64_t rows : {16, 64, 128})
    choose("delta", std::to_string(rows) + " rows", products_of_rows(q, rows), {array, array}, {column.type()});
  for (const auto& [bq, bk] : {std::pair<int64_t, int64_t>{128, 128}, {64, 128}, {128, 64}, {64, 64}, {32, 128}}) {
    const AttentionOptions o{.causal = causal, .block_q = bq, .block_k = bk};
    choose("queries", joined({bq, bk}), flash_attention_backward_queries_call(q, q, o),
           {array, array, array, array, column, column}, {q});
    choose("keys", joined({bq, bk}), flash_attention_backward_keys_call(q, q, o),
           {array, array, array, array, row, row}, {q, q});
  }
}

template <class Make>
void addRows(const std::string& kind, DType dtype, int64_t count, int64_t columns, int weights, Make&& make) {
  const std::string type(name(dtype));
  addRow(kind, kind + " " + type + " " + joined({count, columns}),
         {{"dtype", type}, {"rows", count}, {"columns", columns}});
  std::vector<Operand> operands{typed(dtype, {count, columns})};
  for (int i = 0; i < weights; ++i) operands.emplace_back(typed(dtype, {1, columns}));
  const ArrayType x{dtype, {count, columns}};
  for (const int64_t block : {1, 2, 4, 8, 16}) choose(std::to_string(block) + " rows", make(x, block), operands, x);
}

/// x · sigmoid(1.702 x) + 1 for each element: element-wise ops that read and write an array once.
PallasCall chain(const ArrayType& x, int64_t block) {
  const BlockSpec spec{{block, x.shape[1]}, [](auto i) { return std::tuple{i, 0}; }};
  return pallas_call(
      [](Ref x, Ref o) {
        const Array v = astype(x[_], f32);
        o[_] = astype(v / (1 + exp(v * -1.702f)) + 1, o.dtype());
      },
      Call{.out_shape = ShapeDtype{x.shape, x.dtype},
           .grid = {cdiv(x.shape[0], block)},
           .in_specs = {spec},
           .out_specs = {spec},
           .name = "chain",
           .compiler_params = {.dimension_semantics = {parallel}}});
}

void addDecode(int64_t batch, int64_t heads, int64_t keyHeads, int64_t length, int64_t page, int64_t size) {
  addRow("decode",
         "decode " + std::to_string(batch) + " × " + std::to_string(length) + " keys, pages of " + std::to_string(page),
         {{"batch", batch},
          {"heads", heads},
          {"key_heads", keyHeads},
          {"length", length},
          {"page", page},
          {"size", size}});
  const int64_t pages = length / page;
  const ArrayType q{bf16, {batch, keyHeads, heads / keyHeads, size}}, kv{bf16, {keyHeads, batch * pages, page, size}};
  for (const int64_t together : {1, 2, 4}) {
    const PagedAttentionOptions o{.pages_per_step = together};
    std::vector<Operand> operands{typed(i32, {batch}), typed(i32, {batch * pages}), typed(q.dtype, q.shape)};
    operands.insert(operands.end(), 2 * together, typed(kv.dtype, kv.shape));
    choose(std::to_string(together) + " pages", paged_attention_call(q, kv, pages, o), operands, q);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || *argv[1] == '-') return std::cerr << "usage: bench_cuda_kernels FOLDER\n", 2;
  folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const int64_t n : {4096, 8192, 16384}) addMatmul(bf16, n, n, n);
  addMatmul(bf16, 4096, 12288, 4096);  // a layer of a model of 7 billion parameters
  addMatmul(bf16, 4096, 22016, 4096);
  addMatmul(bf16, 4096, 4096, 11008);
  addMatmul(f8e4m3fn, 8192, 8192, 8192);
  addGrouped(8192, 4096, 4096, 8);
  for (const int64_t size : {64, 128})
    for (const int64_t length : {4096, 16384})
      for (const bool causal : {false, true}) addAttention(bf16, size, length, causal);
  for (const int64_t size : {64, 128})
    for (const bool causal : {false, true}) addAttention(f32, size, 4096, causal);
  for (const int64_t size : {64, 128})
    for (const bool causal : {false, true}) addAttentionBackward(size, 4096, causal);
  for (const DType t : {f32, bf16}) {
    addRows("softmax", t, 16384, 4096, 0,
            [](const ArrayType& x, int64_t b) { return softmax_call(x, {.block_rows = b}); });
    addRows("rms_norm", t, 16384, 4096, 1, [](const ArrayType& x, int64_t b) {
      NormOptions o;
      o.block_rows = b;
      return rms_norm_call(x, o);
    });
    addRows("layer_norm", t, 16384, 4096, 2, [](const ArrayType& x, int64_t b) {
      NormOptions o;
      o.block_rows = b;
      return layer_norm_call(x, o);
    });
    addRows("chain", t, 16384, 4096, 0, chain);
  }
  addDecode(64, 32, 8, 4096, 128, 128);
  addRow("launch", "launch of a kernel of 128 elements", {});
  choose("1 row", chain({f32, {1, 128}}, 1), {typed(f32, {1, 128})}, {f32, {1, 128}});
  std::ofstream(folder / "rows.json") << rows.dump(1) << '\n';
}
