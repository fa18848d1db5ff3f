#include "cpu/lower/DistinctBlocks.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/TpuOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"

namespace smalti::cpu {
namespace {

/// A number and a multiple of each grid index.
struct Sum {
  std::vector<int64_t> factors;
  int64_t constant = 0;

  bool isConstant() const {
    return std::all_of(factors.begin(), factors.end(), [](int64_t f) { return f == 0; });
  }
};

/// Numbers beyond this are not followed, so that no product of two leaves 64 bits.
constexpr int64_t kMost = int64_t{1} << 31;

std::optional<Sum> checked(Sum sum) {
  for (const int64_t f : sum.factors)
    if (std::abs(f) >= kMost) return std::nullopt;
  if (std::abs(sum.constant) >= kMost) return std::nullopt;
  return sum;
}

using Sums = llvm::DenseMap<mlir::Value, Sum>;

const Sum* find(const Sums& sums, mlir::Value value) {
  const auto found = sums.find(value);
  return found == sums.end() ? nullptr : &found->second;
}

/// What the op computes, when that is a sum.
std::optional<Sum> sumOf(mlir::Operation& op, const Sums& sums, size_t rank) {
  Sum sum{std::vector<int64_t>(rank), 0};
  const Sum* a = op.getNumOperands() > 0 ? find(sums, op.getOperand(0)) : nullptr;
  const Sum* b = op.getNumOperands() > 1 ? find(sums, op.getOperand(1)) : nullptr;
  const auto added = [&](int64_t sign) -> std::optional<Sum> {
    if (!a || !b) return std::nullopt;
    for (size_t d = 0; d < rank; ++d) sum.factors[d] = a->factors[d] + sign * b->factors[d];
    sum.constant = a->constant + sign * b->constant;
    return checked(sum);
  };
  using namespace mlir::arith;
  return llvm::TypeSwitch<mlir::Operation*, std::optional<Sum>>(&op)
      .Case<ConstantOp>([&](ConstantOp c) -> std::optional<Sum> {
        const auto number = mlir::dyn_cast<mlir::IntegerAttr>(c.getValue());
        if (!number || number.getValue().getSignificantBits() > 32) return std::nullopt;
        sum.constant = number.getValue().getSExtValue();
        return checked(sum);
      })
      .Case<AddIOp>([&](auto) { return added(1); })
      .Case<SubIOp>([&](auto) { return added(-1); })
      .Case<MulIOp>([&](auto) -> std::optional<Sum> {
        if (!a || !b) return std::nullopt;
        if (a->isConstant()) std::swap(a, b);
        if (!b->isConstant()) return std::nullopt;
        for (size_t d = 0; d < rank; ++d) sum.factors[d] = a->factors[d] * b->constant;
        sum.constant = a->constant * b->constant;
        return checked(sum);
      })
      .Case<IndexCastOp, tpu::AssumeMultipleOp>([&](auto) { return a ? std::optional(*a) : std::nullopt; })
      .Default([](auto) { return std::nullopt; });
}

/// Every value of the map that is a sum.
Sums sumsOf(mlir::Block& map, size_t rank) {
  Sums sums;
  for (size_t d = 0; d < rank; ++d) {
    Sum index{std::vector<int64_t>(rank), 0};
    index.factors[d] = 1;
    sums[map.getArgument(static_cast<unsigned>(d))] = std::move(index);
  }
  for (mlir::Operation& op : map)
    if (op.getNumResults() == 1)
      if (auto sum = sumOf(op, sums, rank)) sums[op.getResult(0)] = std::move(*sum);
  return sums;
}

/// One coordinate of the block: which axes it tells. `width`: elements of the coordinate that a block takes.
void mark(const Sum& sum, int64_t width, const std::vector<int64_t>& grid, std::vector<bool>& told) {
  struct Term {
    size_t axis;
    int64_t factor, bound;
  };
  std::vector<Term> terms;
  int64_t reach = std::abs(sum.constant) + width;
  for (size_t d = 0; d < grid.size(); ++d) {
    if (sum.factors[d] == 0 || grid[d] == 1) continue;
    terms.push_back({d, std::abs(sum.factors[d]), grid[d]});
    if (grid[d] != kDynamicBound) {
      if (grid[d] >= kMost) return;
      reach += terms.back().factor * grid[d];
    } else if (terms.back().factor != 1) {
      return;  // an i32 may wrap to another point's
    }
    if (reach >= kMost) return;
  }
  // As digits of a number: the largest factor's axis is told when all that is smaller cannot make up for one step of
  // it, then the next one's.
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factor > b.factor; });
  for (size_t t = 0; t < terms.size(); ++t) {
    int64_t smaller = width - 1;
    for (size_t s = t + 1; s < terms.size(); ++s) {
      if (terms[s].bound == kDynamicBound) return;
      smaller += terms[s].factor * (terms[s].bound - 1);
    }
    if (terms[t].factor <= smaller) return;
    told[terms[t].axis] = true;
  }
}

}  // namespace

std::vector<bool> distinguishes(mlir::func::FuncOp map, const Window& window, const std::vector<int64_t>& grid) {
  std::vector<bool> told(grid.size());
  for (size_t d = 0; d < grid.size(); ++d) told[d] = grid[d] != kDynamicBound && grid[d] <= 1;
  const Sums sums = sumsOf(map.getBody().front(), grid.size());
  mlir::Operation* end = map.getBody().front().getTerminator();
  for (unsigned c = 0; c < end->getNumOperands() && c < window.bounds.size(); ++c)
    if (const Sum* sum = find(sums, end->getOperand(c)))
      mark(*sum, window.elementIndexed ? window.bounds[c] : 1, grid, told);
  return told;
}

bool sameMap(mlir::func::FuncOp a, mlir::func::FuncOp b) {
  return a == b || mlir::OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                                    mlir::OperationEquivalence::IgnoreLocations);
}

}  // namespace smalti::cpu
