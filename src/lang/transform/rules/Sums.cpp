#include "lang/transform/rules/Sums.h"

#include <algorithm>
#include <numeric>

#include "plain/PlainEvaluators.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Axes64 = std::vector<int64_t>;

const Axes64& axesOf(const OpCall& call) { return call.attribute<Axes64>("axes"); }

Array keepingAxes(const Array& reduced, const OpCall& call) {
  Shape shape = call.operands[0].shape();
  for (const int64_t a : axesOf(call)) shape[a] = 1;
  return reshapeTo(reduced, shape);
}

}  // namespace

/// Among equal extremes the tangents are averaged.
Differentiated jvpReduceExtreme(const OpCall& call, Tangents tangents) {
  const Array &x = call.operands[0], y = primalOf(call);
  const Array is = astype(x == keepingAxes(y, call), x.dtype());
  const Axes axes{axesOf(call)};
  return {{y}, {div(sum(*tangents[0] * is, axes), sum(is, axes))}};
}

/// Computed from products of halves instead of quotients, so that zeros are harmless.
Differentiated jvpReduceProd(const OpCall& call, Tangents tangents) {
  const Axes64& axes = axesOf(call);
  Axes64 order = axes;
  for (int64_t a = 0; a < call.operands[0].rank(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) order.push_back(a);
  const Functional tree = [&](std::span<const Array> x) -> std::vector<Array> {
    Array a = transpose(x[0], order);
    Shape rest(a.shape().begin() + static_cast<ptrdiff_t>(axes.size()), a.shape().end()), flat = rest;
    int64_t n = 1;
    for (const int64_t axis : axes) n *= x[0].shape()[axis];
    flat.insert(flat.begin(), n);
    a = reshapeTo(a, flat);
    if (n == 0) return {ones(rest, x[0].dtype())};
    while (n > 1) {
      Axes64 start(flat.size(), 0), end = flat, middle = flat, other = start;
      const int64_t half = n / 2;
      middle[0] = half;
      other[0] = half;
      end[0] = 2 * half;
      Array next = slice(a, start, middle) * slice(a, other, end);
      if (n % 2) {
        start[0] = n - 1;
        next = concatenate({next, slice(a, start, flat)}, 0);
      }
      a = next;
      n = flat[0] = half + n % 2;
    }
    return {reshapeTo(a, rest)};
  };
  Differentiated d = jvp(tree, call.operands, tangents);
  d.results = {primalOf(call)};
  return d;
}

std::vector<MaybeZero> transposeReduceSum(const OpCall& call, const Mask&, Tangents ct) {
  return {broadcastTo(keepingAxes(*ct[0], call), call.operands[0].shape())};
}

std::vector<Array> batchReduce(const OpCall& call, const Mask&, int64_t size) {
  return bindWith(call, call.operands, batchedType(call.results[0], size), {{"axes", shifted(axesOf(call))}});
}

std::vector<Array> batchReduceIndex(const OpCall& call, const Mask&, int64_t size) {
  return bindWith(call, call.operands, batchedType(call.results[0], size),
                  {{"axis", call.attribute<int64_t>("axis") + 1}});
}

// --- dot_general -------------------------------------------------------------------------------------------------

namespace {

struct Dot {
  Axes64 lhsBatch, rhsBatch, lhsContract, rhsContract;
  explicit Dot(const OpCall& call)
      : lhsBatch(call.attribute<Axes64>("lhs_batching_dimensions")),
        rhsBatch(call.attribute<Axes64>("rhs_batching_dimensions")),
        lhsContract(call.attribute<Axes64>("lhs_contracting_dimensions")),
        rhsContract(call.attribute<Axes64>("rhs_contracting_dimensions")) {}
  Dot(Axes64 lb, Axes64 rb, Axes64 lc, Axes64 rc)
      : lhsBatch(std::move(lb)), rhsBatch(std::move(rb)), lhsContract(std::move(lc)), rhsContract(std::move(rc)) {}

  Attributes attributes(const OpCall& like) const {
    Attributes all = like.attributes;
    for (auto& [key, value] : all) {
      if (key == "lhs_batching_dimensions") value = lhsBatch;
      if (key == "rhs_batching_dimensions") value = rhsBatch;
      if (key == "lhs_contracting_dimensions") value = lhsContract;
      if (key == "rhs_contracting_dimensions") value = rhsContract;
    }
    return all;
  }
  /// The product of other operands, in the precision of the call.
  Array operator()(const OpCall& like, const Array& l, const Array& r, DType t) const {
    ArrayType type{t, {}};
    for (const int64_t a : lhsBatch) type.shape.push_back(l.shape()[a]);
    for (const int64_t a : plain::freeDims(l.shape().size(), lhsBatch, lhsContract)) type.shape.push_back(l.shape()[a]);
    for (const int64_t a : plain::freeDims(r.shape().size(), rhsBatch, rhsContract)) type.shape.push_back(r.shape()[a]);
    return bindWith(like, std::vector<Array>{l, r}, type, attributes(like))[0];
  }
};

Axes64 range(int64_t from, size_t count) {
  Axes64 list(count);
  std::iota(list.begin(), list.end(), from);
  return list;
}

/// The cotangent of one operand: the product of the result's with the other operand. `mine` and `its` are the axes of
/// the operand that is wanted and of the other one.
Array cotangentOf(const OpCall& call, const Array& ct, const ArrayType& wanted, const Array& other, const Axes64& batch,
                  const Axes64& contract, const Axes64& otherBatch, const Axes64& otherContract, bool isLhs) {
  const Axes64 myFree = plain::freeDims(wanted.shape.size(), batch, contract),
               itsFree = plain::freeDims(other.shape().size(), otherBatch, otherContract);
  const auto nb = static_cast<int64_t>(batch.size());
  const auto ctBatch = range(0, batch.size());
  // Result axes: batch, free of the left, free of the right.
  const auto itsInCt = range(nb + (isLhs ? static_cast<int64_t>(myFree.size()) : 0), itsFree.size());
  const Dot dot(ctBatch, otherBatch, itsInCt, itsFree);
  const Array made = convertTo(dot(call, ct, convertTo(other, ct.dtype()), ct.dtype()), wanted.dtype);
  // Its axes: batch, my free ones, then what was contracted, in the order of the other's axes.
  Axes64 sorted = range(0, otherContract.size());
  std::sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) { return otherContract[a] < otherContract[b]; });
  Axes64 axes = batch;
  axes.insert(axes.end(), myFree.begin(), myFree.end());
  for (const int64_t i : sorted) axes.push_back(contract[i]);
  Axes64 permutation(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) permutation[axes[i]] = static_cast<int64_t>(i);
  return transpose(made, permutation);
}

}  // namespace

Differentiated jvpDotGeneral(const OpCall& call, Tangents tangents) {
  const ArrayType& type = call.results[0];
  MaybeZero t;
  if (tangents[0]) t = bindLike(call, std::vector<Array>{*tangents[0], call.operands[1]}, type)[0];
  if (tangents[1]) {
    const Array s = bindLike(call, std::vector<Array>{call.operands[0], *tangents[1]}, type)[0];
    t = t ? MaybeZero(add(*t, s)) : s;
  }
  return {{primalOf(call)}, {t}};
}

std::vector<MaybeZero> transposeDotGeneral(const OpCall& call, const Mask& isLinear, Tangents ct) {
  if (isLinear[0] && isLinear[1]) refuseProduct(call);
  const Dot d(call);
  if (isLinear[0])
    return {cotangentOf(call, *ct[0], call.operands[0].type(), call.operands[1], d.lhsBatch, d.lhsContract, d.rhsBatch,
                        d.rhsContract, true),
            std::nullopt};
  return {std::nullopt, cotangentOf(call, *ct[0], call.operands[1].type(), call.operands[0], d.rhsBatch, d.rhsContract,
                                    d.lhsBatch, d.lhsContract, false)};
}

std::vector<Array> batchDotGeneral(const OpCall& call, const Mask& isBatched, int64_t) {
  const Dot d(call);
  const Array &l = call.operands[0], &r = call.operands[1];
  const DType t = call.results[0].dtype;
  if (isBatched[0] && isBatched[1]) {
    Dot both(shifted(d.lhsBatch), shifted(d.rhsBatch), shifted(d.lhsContract), shifted(d.rhsContract));
    both.lhsBatch.insert(both.lhsBatch.begin(), 0);
    both.rhsBatch.insert(both.rhsBatch.begin(), 0);
    return {both(call, l, r, t)};
  }
  // The examples are one more free axis, the first of its operand.
  const auto nb = static_cast<int64_t>(d.lhsBatch.size());
  if (isBatched[0]) {
    const Dot left(shifted(d.lhsBatch), d.rhsBatch, shifted(d.lhsContract), d.rhsContract);
    return {moveAxis(left(call, l, r, t), nb, 0)};
  }
  const Dot right(d.lhsBatch, shifted(d.rhsBatch), d.lhsContract, shifted(d.rhsContract));
  const auto leftFree = l.rank() - nb - static_cast<int64_t>(d.lhsContract.size());
  return {moveAxis(right(call, l, r, t), nb + leftFree, 0)};
}

}  // namespace smalti::lang
