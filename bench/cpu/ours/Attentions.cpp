#include "ours/Ours.h"
#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/paged_attention.h"

namespace smalti::bench {
namespace {

Work attention(const Spec& s) {
  const DType dtype = dtypeOf(s);
  const int64_t heads = s["heads"], keys = s["length"], queries = s.at("queries", keys), size = s["dim"];
  const Array q = operand({1, heads, queries, size}, dtype, 1);
  const Array k = operand({1, heads, keys, size}, dtype, 2), v = operand({1, heads, keys, size}, dtype, 3);
  const PallasCall call = kernels::flash_attention_call(
      q.type(), k.type(), {.causal = s["causal"] != 0, .block_q = s["bq"], .block_k = s["bk"]});
  return work([=] { return Array(call(q, k, v)); });
}

/// One new query per head over keys and values in pages in random order.
Work paged(const Spec& s) {
  const DType dtype = dtypeOf(s);
  const int64_t heads = s["heads"], keys = s["length"], size = s["dim"], page = s["page"], pages = keys / page;
  const Array q = operand({1, heads, size}, dtype, 1);
  const Array k = operand({heads, pages, page, size}, dtype, 2), v = operand({heads, pages, page, size}, dtype, 3);
  std::vector<int32_t> table;
  for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(i * 5 % pages));
  const Array lengths = array(std::vector<int32_t>{static_cast<int32_t>(keys)});
  const Array places = unwrap(array(table).reshaped({1, pages}));
  return work([=] { return kernels::paged_attention(q, k, v, lengths, places); });
}

}  // namespace

std::map<std::string, Maker> attentions() { return {{"attention", attention}, {"paged", paged}}; }

}  // namespace smalti::bench
