#include "Cases.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/paged_attention.h"

namespace smalti::kernels::test {
namespace {

struct Attention {
  std::string name;
  int64_t batch = 1, heads = 2, key_heads = 2, queries = 256, keys = 256, size = 64;
  AttentionOptions options{};
  DType dtype = f32;
  bool bias = false, segments = false, exportable = true;
};

void addAttention(Cases& cases, Attention c) {
  AttentionOptions& o = c.options;
  const Array q = cases.random(c.dtype, {c.batch, c.heads, c.queries, c.size}, 2);
  const Array k = cases.random(c.dtype, {c.batch, c.key_heads, c.keys, c.size}, 2);
  const Array v = cases.random(c.dtype, {c.batch, c.key_heads, c.keys, c.size});
  std::vector<Array> inputs{q, k, v};
  std::vector<Operand> operands{q, k, v};
  if (c.bias) {
    o.bias = cases.random(f32, {1, c.heads, c.queries, c.keys}, 3);
    inputs.push_back(*o.bias);
    operands.emplace_back(*o.bias);
  }
  if (c.segments) {
    o.query_segments = cases.integers({c.batch, c.queries}, 0, 3),
    o.key_segments = cases.integers({c.batch, c.keys}, 0, 4);
    inputs.insert(inputs.end(), {*o.query_segments, *o.key_segments});
    operands.emplace_back(unwrap(o.query_segments->reshaped({c.batch, c.queries, 1})));
    operands.emplace_back(unwrap(o.key_segments->reshaped({c.batch, 1, c.keys})));
  }
  cases.add({"flash_attention_" + c.name,
             "attention",
             {{"causal", o.causal}, {"bias", c.bias}, {"segments", c.segments}, {"scale", o.scale.value_or(0)}},
             inputs,
             [=] { return flash_attention(q, k, v, o); },
             flash_attention_call(q.type(), k.type(), o),
             operands,
             c.exportable});
}

void addPaged(Cases& cases, const std::string& name, DType dtype, int64_t heads, int64_t key_heads, int64_t length,
              std::vector<int32_t> lengths, int64_t size = 128, int64_t pages_per_sequence = 4,
              const PagedAttentionOptions& o = {}) {
  const auto batch = static_cast<int64_t>(lengths.size());
  const int64_t pages = batch * pages_per_sequence + 3;
  const Array q = cases.random(dtype, {batch, heads, size}, 2),
              k = cases.random(dtype, {key_heads, pages, length, size}, 2),
              v = cases.random(dtype, {key_heads, pages, length, size});
  const Array table = cases.integers({batch, pages_per_sequence}, 0, static_cast<int32_t>(pages)),
              seen = array(lengths);
  const Array grouped = unwrap(q.reshaped({batch, key_heads, heads / key_heads, size}));
  cases.add({"paged_attention_" + name,
             "paged_attention",
             nlohmann::json::object(),
             {q, k, v, seen, table},
             [=] { return paged_attention(q, k, v, seen, table, o); },
             paged_attention_call(grouped.type(), k.type(), pages_per_sequence, o),
             paged_attention_operands(q, k, v, seen, table, o)});
}

}  // namespace

void attentionCases(Cases& cases) {
  addAttention(cases, {.name = "f32", .options = {.block_q = 128, .block_k = 128}});
  addAttention(cases,
               {.name = "bf16", .batch = 2, .size = 128, .options = {.block_q = 128, .block_k = 128}, .dtype = bf16});
  addAttention(
      cases,
      {.name = "causal", .queries = 384, .keys = 384, .options = {.causal = true, .block_q = 128, .block_k = 128}});
  addAttention(
      cases,
      {.name = "causal_bf16", .size = 128, .options = {.causal = true, .block_q = 128, .block_k = 128}, .dtype = bf16});
  addAttention(cases, {.name = "causal_bias_segments",
                       .options = {.causal = true, .block_q = 128, .block_k = 128},
                       .bias = true,
                       .segments = true});
  addAttention(cases, {.name = "bias", .batch = 2, .options = {.block_q = 128, .block_k = 128}, .bias = true});
  addAttention(cases, {.name = "segments", .batch = 2, .options = {.block_q = 128, .block_k = 128}, .segments = true});
  addAttention(cases, {.name = "everything",
                       .batch = 2,
                       .heads = 4,
                       .queries = 200,
                       .keys = 300,
                       .options = {.causal = true, .scale = 0.3f, .block_q = 64, .block_k = 128},
                       .bias = true,
                       .segments = true});
  addAttention(
      cases,
      {.name = "any_length", .queries = 100, .keys = 333, .size = 32, .options = {.block_q = 32, .block_k = 128}});
  addAttention(cases, {.name = "any_length_bf16",
                       .queries = 100,
                       .keys = 200,
                       .options = {.causal = true, .block_q = 32, .block_k = 128},
                       .dtype = bf16});
  addAttention(cases, {.name = "multi_query", .heads = 4, .key_heads = 1, .options = {.block_q = 128, .block_k = 128}});
  addAttention(cases, {.name = "grouped_query",
                       .batch = 2,
                       .heads = 8,
                       .key_heads = 2,
                       .queries = 128,
                       .keys = 256,
                       .options = {.causal = true, .block_k = 128}});
  addAttention(cases, {.name = "one_query", .queries = 1, .keys = 77});
  addAttention(cases, {.name = "one_key", .heads = 1, .key_heads = 1, .queries = 9, .keys = 1, .size = 8});
  addAttention(cases, {.name = "odd_blocks",
                       .queries = 29,
                       .keys = 31,
                       .size = 7,
                       .options = {.causal = true, .block_q = 5, .block_k = 6},
                       .exportable = false});
  addPaged(cases, "f32", f32, 8, 2, 16, {64, 1, 33, 16});
  addPaged(cases, "bf16", bf16, 16, 1, 32, {100, 128});
  addPaged(cases, "multi_head", f32, 2, 2, 16, {17, 0, 48});
  addPaged(cases, "several_steps", f32, 2, 2, 16, {300, 128, 1, 0, 129}, 128, 19);
  addPaged(cases, "several_steps_bf16", bf16, 4, 2, 16, {300, 256}, 128, 19);
  addPaged(cases, "one_query_per_head_bf16", bf16, 2, 2, 16, {300, 256}, 128, 19);
  addPaged(cases, "groups_of_several_steps", f32, 16, 2, 16, {290, 17}, 64, 19);
  addPaged(cases, "one_page_per_step", f32, 8, 2, 16, {64, 1, 33, 16}, 128, 4, {.pages_per_step = 1});
}

}  // namespace smalti::kernels::test
