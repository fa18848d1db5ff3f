#include "Cases.h"
#include "smalti/kernels/dma_copy.h"
#include "smalti/kernels/stream.h"

namespace smalti::kernels::test {
namespace {

void addCopies(Cases& cases, const std::string& name, const Array& x, StreamOptions o, bool exportable = true) {
  const Epilogue f = [](const Array& v) { return v * v + 1; };
  cases.add({"dma_copy_" + name,
             "copy",
             nlohmann::json::object(),
             {x},
             [=] { return dma_copy(x); },
             dma_copy_call(x.type()),
             {x},
             exportable});
  cases.add({"stream_" + name,
             "square_plus_one",
             nlohmann::json::object(),
             {x},
             [=] { return stream(x, f, o); },
             stream_call(x.type(), f, o),
             {x},
             exportable});
  if (!exportable) return;  // emit_pipeline takes blocks of whole tiles only
  cases.add({"stream_pipelined_" + name,
             "square_plus_one",
             nlohmann::json::object(),
             {x},
             [=] { return stream_pipelined(x, f, o); },
             stream_pipelined_call(x.type(), f, o),
             {x},
             exportable});
}

}  // namespace

void copyCases(Cases& cases) {
  addCopies(cases, "f32", cases.random(f32, {256, 256}), {.block_rows = 32});
  addCopies(cases, "bf16", cases.random(bf16, {128, 128}), {.block_rows = 32});
  addCopies(cases, "one_block", cases.random(f32, {16, 128}), {.block_rows = 16});
  addCopies(cases, "two_blocks", cases.random(f32, {32, 128}), {.block_rows = 16});
  addCopies(cases, "tail", cases.random(f32, {88, 256}), {.block_rows = 32});
  addCopies(cases, "chosen", cases.random(f32, {100, 384}), {});
  const Array edges = cases.random(f32, {250, 130});  // the last block ends in the padding of the last tile
  const Epilogue f = [](const Array& v) { return v * v + 1; };
  cases.add({"stream_pipelined_edges",
             "square_plus_one",
             nlohmann::json::object(),
             {edges},
             [=] { return stream_pipelined(edges, f, {.block_rows = 64}); },
             stream_pipelined_call(edges.type(), f, {.block_rows = 64}),
             {edges}});
  addCopies(cases, "odd_blocks", cases.random(f32, {23, 37}), {.block_rows = 5}, false);
}

}  // namespace smalti::kernels::test
