#include "cpu/product/FewRows.h"

#include <fmt/format.h>

#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/DotRows.h"
#include "cpu/product/PairsOfBf16.h"
#include "cpu/product/SumOfRows.h"
#include "cpu/product/TilesOfRows.h"

namespace smalti::cpu {
namespace {

struct Way {
  const char* name;
  void (*emit)(Lowering&, const RowProduct&);
  bool inStreams;  ///< reads blocks in turns, and a single one in several streams
};

/// Nothing where packing is better.
std::optional<Way> wayOf(const Lowering& l, const RowProduct& p) {
  const GemmShape& s = p.shape;
  const int64_t bytes = s.n * s.k * storage_bytes(s.b), cache = l.processor.l1Bytes;
  const bool looksUp = p.b.size() > 1 || p.b[0].upcoming;
  if (isDotOfRows(s)) return Way{"dot products of rows", emitDotRows, true};
  if ((looksUp || bytes >= cache) && isSumOfRows(s, l.processor)) return Way{"sums of rows", emitSumOfRows, true};
  if ((looksUp || bytes >= cache * 5 / 2) && isTilesOfRows(s)) return Way{"tiles of rows", emitTilesOfRows, false};
  return std::nullopt;
}

/// A as f32: every row of B reads it again. `place` keeps it.
RowProduct withWideRows(Lowering& l, RowProduct p, View& place) {
  if (!isNarrowFloat(p.shape.a)) return p;
  const View narrow{.dtype = p.shape.a, .shape = {p.shape.m, p.shape.k}, .base = p.a, .strides = {p.aRow, l.index(1)}};
  place = l.allocate(DType::f32, narrow.shape);
  convertElements(l, narrow, place);
  p.shape.a = place.dtype;
  p.a = place.base;
  p.aRow = place.strides[0];
  return p;
}

}  // namespace

bool emitFewRows(Lowering& l, const RowProduct& p) {
  const std::optional<Way> way = wayOf(l, p);
  if (!way) return false;
  View place;
  const RowProduct read = way->inStreams ? inStreams(l, p) : p;
  const bool pairs = multipliesPairs(read, l.processor);
  way->emit(l, pairs ? read : withWideRows(l, read, place));
  const GemmShape& s = p.shape;
  std::string text = fmt::format("{}x{}x{} {}·{}→{}: {}", s.m, s.n, s.k, name(s.a), name(s.b), name(s.c), way->name);
  if (p.b.size() > 1)
    text += fmt::format(", {} blocks{}", p.b.size(), way->inStreams ? " in turns" : "");
  else if (read.b.size() > 1)
    text += fmt::format(", {} streams", read.b.size());
  if (pairs) text += ", by pairs";
  l.report.matmuls.push_back(std::move(text));
  return true;
}

}  // namespace smalti::cpu
