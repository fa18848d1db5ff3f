#include "Structure.h"

#include <array>
#include <functional>
#include <vector>

#include "interop/Interop.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace smalti::fuzz {
namespace {

size_t below(size_t n, Random& random) { return n == 0 ? 0 : random() % n; }

/// A number near the old one, or one where arithmetic goes wrong first.
int64_t otherNumber(int64_t v, Random& random) {
  static constexpr int64_t kNumbers[] = {0,   1,   -1,  2,       3,         7,         8,         16,       64,
                                         127, 128, 129, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  switch (below(8, random)) {
    case 0:
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(v) + 1);
    case 2:
      return static_cast<int64_t>(static_cast<uint64_t>(v) - 1);
    case 3:
      return static_cast<int64_t>(static_cast<uint64_t>(v) * 2);
    case 4:
      return v / 2;
    case 5:
      return static_cast<int64_t>(-static_cast<uint64_t>(v));
    default:
      return kNumbers[below(std::size(kNumbers), random)];
  }
}

/// Integers of an attribute, in order; `change(number)` gives the new one.
class Integers {
 public:
  explicit Integers(std::function<int64_t(int64_t)> change) : change_(std::move(change)) {}

  mlir::Attribute walk(mlir::Attribute a) {
    if (auto i = llvm::dyn_cast<mlir::IntegerAttr>(a)) {
      const unsigned width = i.getValue().getBitWidth();
      if (width > 64) return a;
      const int64_t now = change_(i.getValue().getSExtValue());
      return mlir::IntegerAttr::get(i.getType(), llvm::APInt(width, static_cast<uint64_t>(now), true, true));
    }
    if (auto list = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(a)) {
      std::vector<int64_t> values(list.asArrayRef());
      for (int64_t& v : values) v = change_(v);
      return mlir::DenseI64ArrayAttr::get(a.getContext(), values);
    }
    if (auto list = llvm::dyn_cast<mlir::DenseI32ArrayAttr>(a)) {
      std::vector<int32_t> values(list.asArrayRef());
      for (int32_t& v : values) v = static_cast<int32_t>(change_(v));
      return mlir::DenseI32ArrayAttr::get(a.getContext(), values);
    }
    if (auto elements = llvm::dyn_cast<mlir::DenseIntElementsAttr>(a)) {
      if (elements.getNumElements() > 4096) return a;
      std::vector<llvm::APInt> values;
      for (const llvm::APInt& v : elements)
        values.push_back(
            v.getBitWidth() > 64
                ? v
                : llvm::APInt(v.getBitWidth(), static_cast<uint64_t>(change_(v.getSExtValue())), true, true));
      return mlir::DenseElementsAttr::get(elements.getType(), values);
    }
    if (auto list = llvm::dyn_cast<mlir::ArrayAttr>(a)) {
      std::vector<mlir::Attribute> values;
      for (mlir::Attribute v : list) values.push_back(walk(v));
      return mlir::ArrayAttr::get(a.getContext(), values);
    }
    if (auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(a)) {
      std::vector<mlir::NamedAttribute> values;
      for (mlir::NamedAttribute v : dictionary) values.emplace_back(v.getName(), walk(v.getValue()));
      return mlir::DictionaryAttr::get(a.getContext(), values);
    }
    return a;
  }

 private:
  std::function<int64_t(int64_t)> change_;
};

/// One integer of one attribute.
bool changeAttribute(mlir::Operation& op, Random& random) {
  std::vector<std::pair<mlir::NamedAttribute, size_t>> candidates;
  for (mlir::NamedAttribute a : op.getAttrs()) {
    if (a.getName().getValue().contains("egmentSizes") || a.getName().getValue().contains("version")) continue;
    size_t n = 0;
    Integers([&](int64_t v) { return ++n, v; }).walk(a.getValue());
    if (n > 0) candidates.push_back({a, n});
  }
  if (candidates.empty()) return false;
  const auto& [attribute, n] = candidates[below(candidates.size(), random)];
  const size_t chosen = below(n, random);
  size_t at = 0;
  mlir::Attribute changed =
      Integers([&](int64_t v) { return at++ == chosen ? otherNumber(v, random) : v; }).walk(attribute.getValue());
  op.setAttr(attribute.getName(), changed);
  return true;
}

/// An operand becomes another value of its type that is there.
bool changeOperand(mlir::Operation& op, Random& random) {
  if (op.getNumOperands() == 0) return false;
  const auto number = static_cast<unsigned>(below(op.getNumOperands(), random));
  const mlir::Type type = op.getOperand(number).getType();
  std::vector<mlir::Value> others;
  for (mlir::Operation* at = &op; at && at->getBlock(); at = at->getParentOp()) {
    for (mlir::Operation& before : *at->getBlock()) {
      if (&before == at) break;
      for (mlir::Value v : before.getResults())
        if (v.getType() == type) others.push_back(v);
    }
    for (mlir::Value v : at->getBlock()->getArguments())
      if (v.getType() == type) others.push_back(v);
    if (llvm::isa<mlir::func::FuncOp>(at->getParentOp())) break;
  }
  if (others.empty()) return false;
  op.setOperand(number, others[below(others.size(), random)]);
  return true;
}

/// Integer arithmetic becomes other integer arithmetic.
bool changeKind(mlir::Operation& op, Random& random) {
  static constexpr std::array<llvm::StringRef, 14> kOps{
      "arith.addi",  "arith.subi",  "arith.muli", "arith.divsi", "arith.remsi", "arith.divui", "arith.remui",
      "arith.maxsi", "arith.minsi", "arith.shli", "arith.shrsi", "arith.andi",  "arith.ori",   "arith.xori"};
  if (!llvm::is_contained(kOps, op.getName().getStringRef())) return false;
  mlir::OpBuilder b(&op);
  mlir::OperationState state(op.getLoc(), kOps[below(kOps.size(), random)]);
  state.addOperands(op.getOperands());
  state.addTypes(op.getResultTypes());
  op.replaceAllUsesWith(b.create(state)->getResults());
  op.erase();
  return true;
}

/// A size of an array of the call, an alias, or something in the module.
void change(KernelPackage& kernel, Random& random) {
  if (below(12, random) == 0) {
    auto& arrays = below(2, random) ? kernel.operands : kernel.results;
    if (!arrays.empty()) {
      ArrayType& array = arrays[below(arrays.size(), random)];
      if (!array.shape.empty()) {
        int64_t& size = array.shape[below(array.shape.size(), random)];
        size = otherNumber(size, random) & 0xffff;
      }
    }
    return;
  }
  if (below(40, random) == 0 && !kernel.operands.empty() && !kernel.results.empty()) {
    kernel.aliases.push_back({static_cast<int>(below(kernel.results.size(), random)),
                              static_cast<int>(below(kernel.operands.size(), random))});
    return;
  }
  std::vector<mlir::Operation*> constants, all;
  kernel.module->walk([&](mlir::Operation* op) {
    if (op == kernel.module->getOperation()) return;
    all.push_back(op);
    // Half of all changes: what decides where and how far.
    const llvm::StringRef name = op->getName().getStringRef();
    if (name == "arith.constant" || name == "func.func" || name.contains("slice")) constants.push_back(op);
  });
  for (int tries = 0; tries < 8; ++tries) {
    const auto& from = below(2, random) && !constants.empty() ? constants : all;
    if (from.empty()) return;
    mlir::Operation& op = *from[below(from.size(), random)];
    bool done = false;
    switch (below(4, random)) {
      case 0:
        done = changeOperand(op, random);
        break;
      case 1:
        done = changeKind(op, random);
        if (done) return;
        [[fallthrough]];
      default:
        done = changeAttribute(op, random);
    }
    if (done) return;
  }
}

bool verifies(KernelPackage& kernel) {
  mlir::ScopedDiagnosticHandler quiet(kernel.context.get(), [](mlir::Diagnostic&) { return mlir::success(); });
  return mlir::succeeded(mlir::verify(kernel.module.get())) && finish(kernel);
}

}  // namespace

std::string withMutatedStructure(const std::string& stablehlo, Random& random) {
  for (int tries = 0; tries < 6; ++tries) {
    auto program = interop::importStableHlo(stablehlo, "input.mlir");
    if (!program || program->kernels.size() != 1) return stablehlo;
    KernelPackage kernel = std::move(program->kernels.front());
    for (size_t changes = 1 + below(3, random); changes > 0; --changes) change(kernel, random);
    if (!verifies(kernel)) continue;
    auto text = interop::exportStableHlo(wrap(std::move(kernel)));
    if (text) return *text;
  }
  return stablehlo;
}

}  // namespace smalti::fuzz
