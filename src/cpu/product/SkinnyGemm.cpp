#include "cpu/product/SkinnyGemm.h"

#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/DotTiles.h"
#include "cpu/product/GemvAxpy.h"
#include "cpu/product/GemvDot.h"
#include "cpu/product/SkinnyTiles.h"

namespace smalti::cpu {
namespace {

/// A as f32, since it is read again for every row of B. `place` owns its memory.
RowProduct withWideRows(NativeLowering& l, RowProduct p, View& place) {
  const View narrow{{.dtype = p.shape.a, .shape = {p.shape.m, p.shape.k}, .strides = {p.lda, l.index(1)}}, p.a};
  place = l.allocate(DType::f32, narrow.shape);
  convertElements(l, narrow, place);
  p.shape.a = place.dtype;
  p.a = place.base;
  p.lda = place.strides[0];
  return p;
}

}  // namespace

void emitSkinnyGemm(NativeLowering& l, const ProductPlan& plan, const RowProduct& product) {
  View place;
  RowProduct p = inStreams(l, product, plan.streams);
  p.prefetch = plan.prefetch;
  p.bf16Pairs = plan.bf16Pairs;
  if (plan.widensA) p = withWideRows(l, p, place);
  if (const auto* dot = std::get_if<GemvDotPlan>(&plan.division)) emitGemvDot(l, p, *dot);
  if (const auto* tiles = std::get_if<DotTilesPlan>(&plan.division)) emitDotTiles(l, p, *tiles);
  if (const auto* axpy = std::get_if<GemvAxpyPlan>(&plan.division)) emitGemvAxpy(l, p, *axpy);
  if (const auto* tiles = std::get_if<SkinnyTilesPlan>(&plan.division)) emitSkinnyTiles(l, p, *tiles);
}

}  // namespace smalti::cpu
