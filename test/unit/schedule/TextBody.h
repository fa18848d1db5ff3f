// Bodies of kernels as text, and their schedule: the refs %x, %y and %o are three memories of 8x128 elements.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/KernelPackage.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "schedule/BodyScheduler.h"

namespace smalti::schedule::testing {

/// Nothing is in memory but what the test says; rows are taken one by one.
struct Facts : Surroundings {
  llvm::DenseMap<mlir::Value, StoredValue> values;
  RowSchedule rows;
  BodyScheduler* scheduler = nullptr;

  std::optional<StoredValue> stored(mlir::Value v) const override {
    const auto at = values.find(v);
    return at == values.end() ? std::nullopt : std::optional(at->second);
  }
  bool isLiveOut(mlir::Value v, const llvm::DenseSet<mlir::Operation*>& here) const override {
    return scheduler->isLiveOut(v, here);
  }
  DType storageDType(mlir::Value v) const override { return elementDType(v.getType()); }
  RowSchedule scheduleRows(const NestFacts&, const std::function<int64_t(size_t)>&) const override { return rows; }
};

class TextBody {
 public:
  TextBody(TextBody&&) = delete;
  explicit TextBody(std::string_view body) : context_(makeContext()) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text(body), mlir::ParserConfig(context_.get()));
    if (!module_) throw std::runtime_error("the body does not parse");
    function_ = *module_->getOps<mlir::func::FuncOp>().begin();
    scheduler_.emplace(function_);
    facts.scheduler = &*scheduler_;
  }

  /// The whole body as one segment.
  Segment plan(Flush flush = Flush::beforeWrites) {
    for (mlir::Operation& op : function_.getBody().front().without_terminator()) add(op);
    return scheduler_->take(flush, facts);
  }
  BodyScheduler& scheduler() { return *scheduler_; }
  mlir::Operation* op(std::string_view name, size_t nth = 0) {
    mlir::Operation* found = nullptr;
    function_.walk([&](mlir::Operation* op) {
      if (op->getName().getStringRef() == llvm::StringRef(name) && nth-- == 0) found = op;
    });
    return found;
  }
  mlir::Value result(std::string_view name, size_t nth = 0) { return op(name, nth)->getResult(0); }

  Facts facts;

 private:
  static std::string text(std::string_view body) {
    constexpr const char* kRef = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    return fmt::format(
        "func.func @k(%i: index, %x: {0}, %y: {0}, %o: {0}) {{\n"
        "%z = arith.constant 0 : index\n%four = arith.constant 4 : index\n"
        "%zeros = arith.constant dense<0.0> : vector<8xf32>\n{1}\nreturn\n}}",
        kRef, body);
  }
  int memoryOf(mlir::Value ref) { return static_cast<int>(llvm::cast<mlir::BlockArgument>(ref).getArgNumber()); }
  void add(mlir::Operation& op) {
    if (auto store = llvm::dyn_cast<tpu::VectorStoreOp>(op)) {
      const mlir::Value value = store.getValueToStore();
      scheduler_->add({.op = &op, .access = accessTo(op.getOperand(1), value), .stored = value});
    } else if (isLoad(op)) {
      scheduler_->add({.op = &op, .access = accessTo(op.getOperand(0), op.getResult(0))});
    } else if (op.getNumResults() == 1 && isVector(op.getResult(0)) && !llvm::isa<mlir::arith::ConstantOp>(op)) {
      scheduler_->add({.op = &op});
    }
  }
  Access accessTo(mlir::Value ref, mlir::Value value) {
    const Shape shape = shapeOf(value.getType());
    return {.memory = memoryOf(ref), .dtype = DType::f32, .shape = shape, .isDense = shape.back() == 128};
  }

  std::shared_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  std::optional<BodyScheduler> scheduler_;
};

/// "%NAME = vector.load %REF[row, %z]", 8x128 or as many rows.
inline std::string load(std::string_view name, std::string_view ref, std::string_view row = "%z", int rows = 8) {
  return fmt::format(
      "%{0} = vector.load %{1}[{2}, %z] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<{3}x128xf32>\n", name, ref,
      row, rows);
}
inline std::string store(std::string_view value, std::string_view ref, std::string_view row = "%z", int rows = 8) {
  return fmt::format(
      "tpu.vector_store %{1}[{2}, %z], %{0} {{strides = array<i32>}} : memref<8x128xf32, #tpu.memory_space<vmem>>, "
      "vector<{3}x128xf32>,\n",
      value, ref, row, rows);
}
/// "%NAME = OP %A, %B" on 8x128.
inline std::string binary(std::string_view name, std::string_view op, std::string_view a, std::string_view b) {
  return fmt::format("%{} = {} %{}, %{} : vector<8x128xf32>\n", name, op, a, b);
}
inline std::string unary(std::string_view name, std::string_view op, std::string_view a) {
  return fmt::format("%{} = {} %{} : vector<8x128xf32>\n", name, op, a);
}
/// The sum of each row, and that sum in each element of its row.
inline std::string rowSum(std::string_view name, std::string_view of) {
  return fmt::format(
      "%{0}r = vector.multi_reduction <add>, %{1}, %zeros [1] : vector<8x128xf32> to vector<8xf32>\n"
      "%{0}c = vector.shape_cast %{0}r : vector<8xf32> to vector<8x1xf32>\n"
      "%{0} = vector.broadcast %{0}c : vector<8x1xf32> to vector<8x128xf32>\n",
      name, of);
}

}  // namespace smalti::schedule::testing
