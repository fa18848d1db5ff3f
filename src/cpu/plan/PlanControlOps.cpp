// Loops and branches: they carry scalars in registers and vectors in memory.
#include <array>

#include "cpu/plan/BodyPlanner.h"
#include "ir/Types.h"

namespace smalti::cpu {
namespace {

using schedule::isVector;

/// Values that control flow carries from one block to another.
class CarriedMemory {
 public:
  CarriedMemory(BodyPlanner& planner, mlir::TypeRange types) : p_(planner) {
    for (const mlir::Type t : types)
      places_.push_back(llvm::isa<mlir::VectorType>(t) ? BodyPlanner::allocate(elementDType(t), shapeOf(t))
                                                       : MemoryView());
  }
  void assign(mlir::ValueRange values) {
    for (const mlir::Value v : values)
      if (isVector(v)) p_.view(v);
  }
  void bind(mlir::ValueRange values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const mlir::Value v = values[static_cast<unsigned>(i)];
      if (isVector(v))
        p_.setView(v, places_[i]);
      else
        p_.setScalar(v);
    }
  }

 private:
  BodyPlanner& p_;
  std::vector<MemoryView> places_;
};

NativeResult planFor(BodyPlanner& p, mlir::Operation& op) {
  p.flushBeforeWrites();
  mlir::Block& body = op.getRegion(0).front();
  CarriedMemory carried(p, op.getResultTypes());
  carried.assign(op.getOperands().drop_front(3));
  p.setScalar(body.getArgument(0));
  carried.bind(body.getArguments().drop_front());
  if (auto ok = p.planBlock(body); !ok) return ok;
  carried.assign(body.getTerminator()->getOperands());
  carried.bind(op.getResults());
  return {};
}

NativeResult planIf(BodyPlanner& p, mlir::Operation& op) {
  p.flushBeforeWrites();
  CarriedMemory carried(p, op.getResultTypes());
  for (mlir::Region& region : op.getRegions()) {
    if (region.empty()) continue;
    if (auto ok = p.planBlock(region.front()); !ok) return ok;
    carried.assign(region.front().getTerminator()->getOperands());
  }
  carried.bind(op.getResults());
  return {};
}

NativeResult planWhile(BodyPlanner& p, mlir::Operation& op) {
  p.flushBeforeWrites();
  mlir::Block &before = op.getRegion(0).front(), &body = op.getRegion(1).front();
  CarriedMemory in(p, before.getArgumentTypes()), out(p, op.getResultTypes());
  in.assign(op.getOperands());
  in.bind(before.getArguments());
  if (auto ok = p.planBlock(before); !ok) return ok;
  out.assign(before.getTerminator()->getOperands().drop_front());
  out.bind(body.getArguments());
  if (auto ok = p.planBlock(body); !ok) return ok;
  in.assign(body.getTerminator()->getOperands());
  out.bind(op.getResults());
  return {};
}

NativeResult planRegion(BodyPlanner& p, mlir::Operation& op) {
  p.flushBeforeWrites();
  CarriedMemory carried(p, op.getResultTypes());
  mlir::Block& body = op.getRegion(0).front();
  if (auto ok = p.planBlock(body); !ok) return ok;
  carried.assign(body.getTerminator()->getOperands());
  carried.bind(op.getResults());
  return {};
}

NativeResult planNothing(BodyPlanner&, mlir::Operation&) { return {}; }

constexpr std::array<PlanOpRow, 9> kControlTable{{
    {"scf.for", planFor},
    {"scf.if", planIf},
    {"scf.while", planWhile},
    {"tpu.region", planRegion},
    {"cf.assert", planNothing},
    {"tpu.trace_start", planNothing},
    {"tpu.trace_stop", planNothing},
    {"tpu.trace_value", planNothing},
    {"tpu.delay", planNothing},
}};

}  // namespace

std::span<const PlanOpRow> plannedControlOps() { return kControlTable; }

}  // namespace smalti::cpu
