#include "Cases.h"
#include "smalti/kernels/tiled_dot.h"
#include "smalti/kernels/vector_add.h"

namespace smalti::kernels::test {
namespace {

void addVector(Cases& cases, const std::string& name, DType dtype, int64_t n, int64_t block, bool exportable = true) {
  const Array x = cases.random(dtype, {n}), y = cases.random(dtype, {n});
  cases.add({"vector_add_" + name,
             "vector_add",
             nlohmann::json::object(),
             {x, y},
             [=] { return vector_add(x, y, block); },
             vector_add_call(x.type(), block),
             {x, y},
             exportable});
  if (!is_float(dtype)) return;
  const Array start = cases.random(f32, {1});
  cases.add({"tiled_dot_" + name,
             "tiled_dot",
             nlohmann::json::object(),
             {x, y, start},
             [=] { return tiled_dot(x, y, start, {.block = block}); },
             tiled_dot_call(x.type(), {.block = block}),
             {x, y, start},
             exportable});
}

}  // namespace

void vectorCases(Cases& cases) {
  addVector(cases, "f32", f32, 8192, 1024);
  addVector(cases, "bf16", bf16, 4096, 1024);
  addVector(cases, "i32", i32, 4096, 2048);
  addVector(cases, "hangs_over", f32, 5000, 1024);
  addVector(cases, "small", f32, 100, 0);
  addVector(cases, "one", f32, 1, 0);
  addVector(cases, "odd_blocks", f32, 1000, 77, false);
}

}  // namespace smalti::kernels::test
