#include "ir/facts/IndexMaps.h"

#include <algorithm>
#include <cstdlib>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"

#include "ir/TpuOpsElementwise.h"
#include "ir/facts/OpFamilies.h"

namespace smalti {
namespace {

/// Numbers beyond this are not followed, so that no product of two leaves 64 bits.
constexpr int64_t kMax = int64_t{1} << 31;

std::optional<AffineForm> checked(AffineForm form) {
  const auto fits = [](int64_t v) { return std::abs(v) < kMax; };
  if (!std::ranges::all_of(form.factors, fits) || !fits(form.constant) || !fits(form.divisor)) return std::nullopt;
  return form;
}

using Forms = llvm::DenseMap<mlir::Value, AffineForm>;

const AffineForm* formIn(const Forms& forms, mlir::Value value) {
  const auto found = forms.find(value);
  return found == forms.end() ? nullptr : &found->second;
}

/// The types whose values are followed. Narrower ones wrap to other numbers.
bool isFollowed(mlir::Type type) { return type.isInteger(32) || type.isIndex(); }

/// Whether the value is what its form says wherever the form's sum fits an i32: one that was computed in `index` may
/// contain an i32 that wrapped before it was cast, and then differs by a multiple of 2^32.
bool isExact(mlir::Value v) {
  using namespace mlir::arith;
  return v.getType().isInteger(32) || llvm::isa_and_present<ConstantOp, IndexCastOp, DivSIOp>(v.getDefiningOp());
}

/// The affine form of the op's result, if it has one. After a division only another division is followed.
std::optional<AffineForm> formOf(mlir::Operation& op, const Forms& forms, size_t rank) {
  if (!isFollowed(op.getResult(0).getType()) || !llvm::all_of(op.getOperandTypes(), isFollowed)) return std::nullopt;
  AffineForm form{std::vector<int64_t>(rank)};
  const AffineForm* a = op.getNumOperands() > 0 ? formIn(forms, op.getOperand(0)) : nullptr;
  const AffineForm* b = op.getNumOperands() > 1 ? formIn(forms, op.getOperand(1)) : nullptr;
  const bool sums = a && b && a->divisor == 1 && b->divisor == 1;
  const auto added = [&](int64_t sign) -> std::optional<AffineForm> {
    if (!sums) return std::nullopt;
    for (size_t d = 0; d < rank; ++d) form.factors[d] = a->factors[d] + sign * b->factors[d];
    form.constant = a->constant + sign * b->constant;
    return checked(form);
  };
  using namespace mlir::arith;
  return llvm::TypeSwitch<mlir::Operation*, std::optional<AffineForm>>(&op)
      .Case<ConstantOp>([&](ConstantOp c) -> std::optional<AffineForm> {
        const auto number = mlir::dyn_cast<mlir::IntegerAttr>(c.getValue());
        if (!number || number.getValue().getSignificantBits() > 32) return std::nullopt;
        form.constant = number.getValue().getSExtValue();
        return checked(form);
      })
      .Case<AddIOp>([&](auto) { return added(1); })
      .Case<SubIOp>([&](auto) { return added(-1); })
      .Case<MulIOp>([&](auto) -> std::optional<AffineForm> {
        if (!sums) return std::nullopt;
        if (a->isConstant()) std::swap(a, b);
        if (!b->isConstant()) return std::nullopt;
        for (size_t d = 0; d < rank; ++d) form.factors[d] = a->factors[d] * b->constant;
        form.constant = a->constant * b->constant;
        return checked(form);
      })
      .Case<DivSIOp>([&](auto) -> std::optional<AffineForm> {
        if (!a || !b || !b->isConstant() || b->divisor != 1 || b->constant < 1) return std::nullopt;
        if (!isExact(op.getOperand(0)) || !isExact(op.getOperand(1))) return std::nullopt;
        form = *a;
        form.divisor *= b->constant;
        return checked(form);
      })
      .Case<IndexCastOp, tpu::AssumeMultipleOp>([&](auto) { return a ? std::optional(*a) : std::nullopt; })
      .Default([](auto) { return std::nullopt; });
}

/// The forms of all values of the map that have one.
Forms formsOf(mlir::Block& map, size_t rank) {
  Forms forms;
  for (size_t d = 0; d < rank; ++d) {
    AffineForm index{std::vector<int64_t>(rank)};
    index.factors[d] = 1;
    forms[map.getArgument(static_cast<unsigned>(d))] = std::move(index);
  }
  for (mlir::Operation& op : map)
    if (op.getNumResults() == 1)
      if (auto form = formOf(op, forms, rank)) forms[op.getResult(0)] = std::move(*form);
  return forms;
}

/// Whether the value depends on the index of each axis, directly or through memory.
std::vector<bool> axesOf(mlir::Value value, mlir::Block& map, size_t rank) {
  std::vector<bool> axes(rank);
  llvm::SmallVector<mlir::Value> from{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!from.empty()) {
    const mlir::Value v = from.pop_back_val();
    if (!seen.insert(v).second) continue;
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(v)) {
      if (argument.getOwner() == &map && argument.getArgNumber() < rank) axes[argument.getArgNumber()] = true;
      continue;  // an inner block's: what its op takes counts already
    }
    // The ops of its regions count as well: conditions, and values from outside.
    v.getDefiningOp()->walk([&](mlir::Operation* op) { from.append(op->operand_begin(), op->operand_end()); });
  }
  return axes;
}

bool onlyLooksUp(mlir::Value index) {
  return llvm::all_of(index.getUsers(), [](mlir::Operation* user) {
    return isLoad(*user) || (mlir::isa<mlir::arith::IndexCastOp>(user) &&
                             llvm::all_of(user->getUsers(), [](mlir::Operation* next) { return isLoad(*next); }));
  });
}

/// Marks the axes that one coordinate distinguishes. `width`: the number of the coordinate's values in a block.
void markDistinguished(const AffineForm& form, int64_t width, const std::vector<int64_t>& grid,
                       std::vector<bool>& distinguished) {
  struct Term {
    size_t axis;
    int64_t factor, bound;
  };
  if (form.divisor != 1) return;
  std::vector<Term> terms;
  int64_t reach = std::abs(form.constant) + width;
  for (size_t d = 0; d < grid.size(); ++d) {
    if (form.factors[d] == 0 || grid[d] == 1) continue;
    terms.push_back({d, std::abs(form.factors[d]), grid[d]});
    if (grid[d] != kDynamicBound) {
      if (grid[d] >= kMax) return;
      reach += terms.back().factor * grid[d];
    } else if (terms.back().factor != 1) {
      return;  // an i32 may wrap to another point's
    }
    if (reach >= kMax) return;
  }
  // As digits of a number: the axis of the largest factor is determined if all smaller ones together are less than one
  // step of it, then the next one's.
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factor > b.factor; });
  for (size_t t = 0; t < terms.size(); ++t) {
    int64_t smaller = width - 1;
    for (size_t s = t + 1; s < terms.size(); ++s) {
      if (terms[s].bound == kDynamicBound) return;
      smaller += terms[s].factor * (terms[s].bound - 1);
    }
    if (terms[t].factor <= smaller) return;
    distinguished[terms[t].axis] = true;
  }
}

}  // namespace

bool AffineForm::isConstant() const {
  return std::ranges::all_of(factors, [](int64_t f) { return f == 0; });
}

std::optional<size_t> AffineForm::gridIndex() const {
  std::optional<size_t> axis;
  for (size_t d = 0; d < factors.size(); ++d) {
    if (factors[d] == 0) continue;
    if (axis || factors[d] != 1) return std::nullopt;
    axis = d;
  }
  return constant == 0 && divisor == 1 ? axis : std::nullopt;
}

int64_t AffineForm::at(std::span<const int64_t> step) const {
  int64_t sum = constant;
  for (size_t d = 0; d < factors.size(); ++d) sum += factors[d] * step[d];
  return sum / divisor;
}

std::optional<AffineForm::Range> AffineForm::rangeOn(std::span<const int64_t> grid) const {
  Range sum{constant, constant};
  for (size_t d = 0; d < factors.size(); ++d) {
    if (factors[d] == 0) continue;
    if (grid[d] == kDynamicBound || grid[d] > kMax) return std::nullopt;
    const int64_t most = factors[d] * std::max<int64_t>(grid[d] - 1, 0);
    (most < 0 ? sum.low : sum.high) += most;
    if (sum.low < -kMax || sum.high >= kMax) return std::nullopt;
  }
  return Range{sum.low / divisor, sum.high / divisor};
}

IndexMapFacts::IndexMapFacts(mlir::func::FuncOp map, size_t gridRank) : axes_(gridRank) {
  mlir::Block& body = map.getBody().front();
  mlir::Operation* end = body.getTerminator();
  forms_ = formsOf(body, gridRank);
  for (const mlir::Value v : end->getOperands()) {
    results_.push_back(v);
    const AffineForm* form = formIn(forms_, v);
    coordinates_.push_back({form ? std::optional(*form) : std::nullopt, axesOf(v, body, gridRank)});
  }
  for (size_t a = 0; a < gridRank; ++a) {
    const mlir::BlockArgument index = body.getArgument(static_cast<unsigned>(a));
    axes_[a] = {!index.use_empty(), smalti::onlyLooksUp(index),
                llvm::all_of(index.getUsers(), [&](mlir::Operation* user) { return user == end; })};
  }
  body.walk([&](mlir::Operation* op) { readsMemory_ |= isLoad(*op); });
  usesScalarPrefetch_ =
      llvm::any_of(body.getArguments().drop_front(gridRank), [](mlir::BlockArgument ref) { return !ref.use_empty(); });
}

bool IndexMapFacts::isInvariantIn(size_t axis) const {
  return std::ranges::none_of(coordinates_, [&](const BlockCoordinate& c) { return c.axes[axis]; });
}

bool IndexMapFacts::staysIn(size_t coordinate, int64_t count, std::span<const int64_t> grid) const {
  const auto range = rangeOf(results_[coordinate], grid);
  return range && range->low >= 0 && range->high < count;
}

/// Includes all values over the grid. The ops are looked at in order, each once, however often a value is used.
std::optional<AffineForm::Range> IndexMapFacts::rangeOf(mlir::Value v, std::span<const int64_t> grid) const {
  using Range = AffineForm::Range;
  llvm::DenseMap<mlir::Value, Range> known;  // of values without a form
  const auto of = [&](mlir::Value x) -> std::optional<Range> {
    if (const AffineForm* form = formIn(forms_, x)) return form->rangeOn(grid);
    const auto found = known.find(x);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  using namespace mlir::arith;
  mlir::Operation* last = formIn(forms_, v) ? nullptr : v.getDefiningOp();
  for (mlir::Operation* op = last ? &last->getBlock()->front() : nullptr; op;
       op = op == last ? nullptr : op->getNextNode()) {
    if (!llvm::isa<MinSIOp, MaxSIOp, SelectOp>(op) || !op->getResult(0).getType().isInteger(32)) continue;
    const unsigned first = llvm::isa<SelectOp>(op) ? 1 : 0;
    const auto a = of(op->getOperand(first)), b = of(op->getOperand(first + 1));
    if (!a || !b) continue;
    const auto [low, high] = std::minmax(a->low, b->low);
    const auto [least, most] = std::minmax(a->high, b->high);
    known[op->getResult(0)] = {llvm::isa<MaxSIOp>(op) ? high : low, llvm::isa<MinSIOp>(op) ? least : most};
  }
  return of(v);
}

std::optional<std::vector<int64_t>> IndexMapFacts::blockAt(std::span<const int64_t> step,
                                                           std::span<const int64_t> grid) const {
  std::vector<int64_t> block;
  for (const BlockCoordinate& c : coordinates_) {
    if (!c.form || !c.form->rangeOn(grid)) return std::nullopt;
    block.push_back(c.form->at(step));
  }
  return block;
}

std::vector<bool> injectiveAxes(const IndexMapFacts& map, const Window& window, const std::vector<int64_t>& grid) {
  std::vector<bool> distinguished(grid.size());
  for (size_t d = 0; d < grid.size(); ++d) distinguished[d] = grid[d] != kDynamicBound && grid[d] <= 1;
  for (size_t c = 0; c < map.coordinates().size() && c < window.bounds.size(); ++c)
    if (const auto& form = map.coordinates()[c].form)
      markDistinguished(*form, window.elementIndexed ? window.bounds[c] : 1, grid, distinguished);
  return distinguished;
}

bool sameIndexMap(mlir::func::FuncOp a, mlir::func::FuncOp b) {
  return a == b || mlir::OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                                    mlir::OperationEquivalence::IgnoreLocations);
}

}  // namespace smalti
