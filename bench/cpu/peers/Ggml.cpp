// ggml: its fused attention. Results of a head are adjacent to those of the others: [queries, heads, size].
#include <ggml-cpu.h>
#include <ggml.h>

#include <cmath>

#include "actor/Actor.h"

namespace {

using namespace smalti::bench;

constexpr size_t kRoomForTensors = 16 << 20;  // bytes, in addition to their data

int threadsWanted() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text ? std::max(1, std::atoi(text)) : 1;
}

ggml_type typeOf(const Spec& s) { return s.text("dtype", "f32") == "bf16" ? GGML_TYPE_BF16 : GGML_TYPE_F32; }

int64_t sizeOf(ggml_type t) { return t == GGML_TYPE_BF16 ? 2 : 4; }

void fill(ggml_tensor* t, uint32_t seed) {
  const auto count = static_cast<uint32_t>(ggml_nelements(t));
  for (uint32_t i = 0; i < count; ++i) {
    if (t->type == GGML_TYPE_BF16)
      static_cast<uint16_t*>(t->data)[i] = bf16Bits(element(i, seed));
    else
      static_cast<float*>(t->data)[i] = element(i, seed);
  }
}

/// One graph, the memory of its tensors, and the threads that compute it.
struct Graph {
  explicit Graph(size_t bytes) : context(ggml_init({bytes + kRoomForTensors, nullptr, false})) {
    if (!context) throw Unable("no memory");
    ggml_threadpool_params wanted = ggml_threadpool_params_default(threadsWanted());
    wanted.poll = 0;  // waiting threads would occupy the cores of the next benchmark
    pool = ggml_threadpool_new(&wanted);
  }
  ~Graph() {
    ggml_threadpool_free(pool);
    ggml_free(context);
  }
  void finish(ggml_tensor* result) {
    graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, result);
    plan = ggml_graph_plan(graph, threadsWanted(), pool);
    work.resize(plan.work_size);
    plan.work_data = work.data();
  }
  ggml_context* context;
  ggml_threadpool* pool;
  ggml_cgraph* graph = nullptr;
  ggml_cplan plan{};
  std::vector<uint8_t> work;
};

/// Keys after a query's place are hidden: 0 or -inf, in f16.
ggml_tensor* causalMask(ggml_context* context, int64_t keys, int64_t queries) {
  ggml_tensor* mask = ggml_new_tensor_2d(context, GGML_TYPE_F16, keys, queries);
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      static_cast<ggml_fp16_t*>(mask->data)[i * keys + j] = ggml_fp32_to_fp16(j > i ? -INFINITY : 0);
  return mask;
}

Work attention(const Spec& s) {
  const ggml_type type = typeOf(s);
  const int64_t heads = s["heads"], keys = s["length"], queries = s.at("queries", keys), size = s["dim"];
  const int64_t bytes =
      heads * size * (2 * queries * 4 + 2 * keys * sizeOf(type)) + (s["causal"] ? keys * queries * 2 : 0);
  auto graph = std::make_shared<Graph>(static_cast<size_t>(bytes));
  // Queries are always f32 in ggml.
  ggml_tensor* q = ggml_new_tensor_4d(graph->context, GGML_TYPE_F32, size, queries, heads, 1);
  ggml_tensor* k = ggml_new_tensor_4d(graph->context, type, size, keys, heads, 1);
  ggml_tensor* v = ggml_new_tensor_4d(graph->context, type, size, keys, heads, 1);
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  ggml_tensor* mask = s["causal"] ? causalMask(graph->context, keys, queries) : nullptr;
  ggml_tensor* out = ggml_flash_attn_ext(graph->context, q, k, v, mask, 1 / std::sqrt(static_cast<float>(size)), 0, 0);
  ggml_flash_attn_ext_set_prec(out, GGML_PREC_F32);
  graph->finish(out);
  return {[graph] {
            if (ggml_graph_compute(graph->graph, &graph->plan) != GGML_STATUS_SUCCESS) throw Unable("it failed");
          },
          [graph, out, heads, queries, size] {
            const auto* data = static_cast<const float*>(out->data);
            return probes(heads * queries * size, [&](int64_t i) {
              const int64_t column = i % size, query = i / size % queries, head = i / size / queries;
              return static_cast<double>(data[(query * heads + head) * size + column]);
            });
          }};
}

}  // namespace

int main() {
  ggml_cpu_init();
  return Actor({{"attention", attention}}).serve();
}
