// Random grids, blocks and index maps: the pipeline, the naive mode and a plain loop over arrays agree.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

/// One array dimension: how many blocks of which size, how much of the last one is outside, which grid axis selects.
struct Dim {
  int64_t block, blocks, cut;
  int axis;  ///< -1: block 0
  int64_t size() const { return block * blocks - cut; }
};

Dim anyDim(const std::vector<int64_t>& grid) {
  const int axis = *rc::gen::inRange(-1, static_cast<int>(grid.size()));
  const int64_t block = *rc::gen::inRange<int64_t>(1, 5);
  const int64_t blocks = axis < 0 ? *rc::gen::inRange<int64_t>(1, 3) : grid[axis] + *rc::gen::inRange<int64_t>(0, 2);
  return {block, std::max<int64_t>(blocks, 1), *rc::gen::inRange<int64_t>(0, block), axis};
}

std::string mapOf(const std::vector<Dim>& dims) {
  std::string map;
  for (const Dim& d : dims)
    map += (map.empty() ? "%" : ", %") + std::string(d.axis < 0 ? "c0" : std::string(1, "ijk"[d.axis]));
  return map;
}
Shape shapeOf(const std::vector<Dim>& dims) {
  Shape s;
  for (const Dim& d : dims) s.push_back(d.size());
  return s;
}
Shape blockOf(const std::vector<Dim>& dims) {
  Shape s;
  for (const Dim& d : dims) s.push_back(d.block);
  return s;
}

/// The output's axes come first in the grid and in order, so that all visits to a block are consecutive (S-C6).
RC_GTEST_PROP(PipelineProperty, PipelinedEqualsNaiveEqualsALoop, ()) {
  const int rank = *rc::gen::inRange(1, 4);
  std::vector<int64_t> grid;
  for (int d = 0; d < rank; ++d) grid.push_back(*rc::gen::inRange<int64_t>(1, 4));
  std::vector<Dim> in{anyDim(grid), anyDim(grid)};
  const int outAxes = *rc::gen::inRange(0, std::min(rank, 2) + 1);
  std::vector<Dim> out;
  for (int d = 0; d < 2; ++d) {
    const int64_t block = in[d].block;
    out.push_back({block, d < outAxes ? grid[d] : 1, *rc::gen::inRange<int64_t>(0, block), d < outAxes ? d : -1});
  }

  // out block += in block, started from 0 at the first step of a run.
  TextKernel k(grid);
  const Val x = k.input({.array = shapeOf(in), .block = blockOf(in), .map = mapOf(in)});
  const Val o = k.output({.array = shapeOf(out), .block = blockOf(out), .map = mapOf(out)});
  Val inner = k.constant(0);
  for (int d = outAxes; d < rank; ++d) inner = k.binary("arith.addi", inner, k.id(d));
  k.when(k.compare("eq", inner, k.constant(0)), [&] { k.store(k.splat(k.f32(0), blockOf(out)), o); });
  k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);

  const Array operand = f32Array(shapeOf(in), [](int64_t i) { return static_cast<float>(i % 97); });
  MachineOptions naive = checked(), split;
  naive.naivePipeline = true;
  split.seed = *rc::gen::inRange<uint64_t>(0, 100);
  const auto pipelined = floats(results(k, {operand}, split)[0]);
  const auto pipelinedChecked = floats(results(k, {operand}, checked())[0]);
  const auto copied = floats(results(k, {operand}, naive)[0]);

  // The plain loop; elements that only undefined input elements reach are not compared.
  std::vector<double> expected(num_elements(shapeOf(out)), std::nan(""));
  std::vector<int64_t> step(grid.size(), 0);
  const Shape inShape = shapeOf(in), outShape = shapeOf(out);
  for (int64_t n = num_elements(grid), s = 0; s < n; ++s) {
    int64_t rest = s;
    for (size_t d = grid.size(); d-- > 0; rest /= grid[d]) step[d] = rest % grid[d];
    const bool first = std::all_of(step.begin() + outAxes, step.end(), [](int64_t i) { return i == 0; });
    auto start = [&](const Dim& d) { return d.axis < 0 ? 0 : step[d.axis] * d.block; };
    for (int64_t r = 0; r < in[0].block; ++r)
      for (int64_t c = 0; c < in[1].block; ++c) {
        const int64_t or_ = start(out[0]) + r, oc = start(out[1]) + c, ir = start(in[0]) + r, ic = start(in[1]) + c;
        if (or_ >= outShape[0] || oc >= outShape[1]) continue;
        double& e = expected[or_ * outShape[1] + oc];
        if (first) e = 0;
        e += ir < inShape[0] && ic < inShape[1] ? floats(operand)[ir * inShape[1] + ic] : std::nan("");
      }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) continue;
    RC_ASSERT(pipelined[i] == static_cast<float>(expected[i]));
    RC_ASSERT(pipelinedChecked[i] == pipelined[i]);
    RC_ASSERT(copied[i] == pipelined[i]);
  }
}

}  // namespace
}  // namespace smalti::machine::testing
