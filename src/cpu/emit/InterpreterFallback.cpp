#include "cpu/emit/InterpreterFallback.h"

#include "cpu/emit/NativeLowering.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsElementwise.h"
#include "llvm/IR/Module.h"
#include "machine/FlatProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

/// Shape {} for a scalar.
ArrayType typeOfValue(mlir::Value v) { return {elementDType(v.getType()), shapeOf(v.getType())}; }

bool isRef(mlir::Type t) { return llvm::isa<mlir::MemRefType>(t); }

/// The op alone, on refs: func(operands…, results…).
mlir::OwningOpRef<mlir::ModuleOp> outline(mlir::Operation& op) {
  mlir::OpBuilder b(op.getContext());
  const mlir::Location at = op.getLoc();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(at);
  llvm::SmallVector<mlir::Type> arguments;
  const auto refOf = [](mlir::Type t) -> mlir::Type {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(t))
      return mlir::MemRefType::get(vector.getShape(), vector.getElementType());
    return mlir::MemRefType::get({1}, t);
  };
  for (mlir::Type t : op.getOperandTypes()) arguments.push_back(isRef(t) ? t : refOf(t));
  for (mlir::Type t : op.getResultTypes()) arguments.push_back(refOf(t));
  b.setInsertionPointToEnd(module->getBody());
  auto function = mlir::func::FuncOp::create(b, at, "op", b.getFunctionType(arguments, {}));
  mlir::Block* body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);
  mlir::Value zero = mlir::arith::ConstantIndexOp::create(b, at, 0);
  const auto zeros = [&](mlir::Type t) {
    return llvm::SmallVector<mlir::Value>(static_cast<size_t>(llvm::cast<mlir::MemRefType>(t).getRank()), zero);
  };
  llvm::SmallVector<mlir::Value> operands;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    mlir::Value ref = body->getArgument(i);
    const mlir::Type t = op.getOperand(i).getType();
    if (isRef(t))
      operands.push_back(ref);
    else if (llvm::isa<mlir::VectorType>(t))
      operands.push_back(
          mlir::vector::LoadOp::create(b, at, llvm::cast<mlir::VectorType>(t), ref, zeros(ref.getType())));
    else
      operands.push_back(mlir::memref::LoadOp::create(b, at, ref, zeros(ref.getType())));
  }
  mlir::IRMapping mapping;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) mapping.map(op.getOperand(i), operands[i]);
  mlir::Operation* copy = op.cloneWithoutRegions(mapping);
  copy->setOperands(operands);
  b.insert(copy);
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    mlir::Value ref = body->getArgument(op.getNumOperands() + i), value = copy->getResult(i);
    if (llvm::isa<mlir::VectorType>(value.getType()))
      mlir::vector::StoreOp::create(b, at, value, ref, zeros(ref.getType()));
    else
      mlir::memref::StoreOp::create(b, at, value, ref, zeros(ref.getType()));
  }
  mlir::func::ReturnOp::create(b, at);
  return module;
}

}  // namespace

/// A core that supports only prints and random numbers; any other request is an error.
class LocalCore : public machine::Core {
 public:
  explicit LocalCore(FallbackContext::Effects& effects) : effects_(effects) {}
  const machine::Actor& actor() const override { return actor_; }
  int32_t deviceId() const override { return 0; }
  int32_t coreId() const override { return 0; }
  int32_t iterationBound(int) const override { return 1; }
  Result<machine::Buffer*> allocate(int, ArrayType, machine::MemoryKind, const SourcePlace&) override {
    return fail(mistake());
  }
  void release(machine::Buffer&) override {}
  Result<machine::Buffer*> barrierSemaphore(const SourcePlace&) override { return fail(mistake()); }
  bool continuesAfter(Diagnostic) override { return false; }  // native code stops there, and the machine runs the call
  Result<machine::Wait> semaphoreWait(const machine::Ref&, int64_t, const SourcePlace&) override {
    return fail(mistake());
  }
  std::optional<int32_t> semaphoreRead(const machine::Ref&) override { return 0; }
  Status semaphoreSignal(const machine::Ref&, int64_t, std::optional<int32_t>, std::optional<int32_t>,
                         const SourcePlace&) override {
    return fail(mistake());
  }
  Status startDma(const machine::DmaRequest&) override { return fail(mistake()); }
  Result<machine::Wait> waitDma(const machine::Ref&, const machine::Ref&, bool, const SourcePlace&) override {
    return fail(mistake());
  }
  void log(std::string line) override { effects_.log.push_back("d0: " + line); }
  void prngSeed(std::span<const int32_t> words) override { effects_.prng.seed(words); }
  void prngFill(uint32_t* out, int64_t n) override { effects_.prng.fill(out, n); }
  void trace(std::string_view, bool) override {}
  void delay(int64_t) override {}
  machine::Observer* observer() override { return nullptr; }
  bool tracksInitialisation() const override { return false; }
  eval::Poison poisonKind() const override { return eval::Poison::intMin; }

 private:
  static Diagnostic mistake() {
    return {.code = "SM9001", .message = "an op without declared effects requested one", .place = {}};
  }
  machine::Actor actor_;
  FallbackContext::Effects& effects_;
};

Result<int> FallbackOps::add(mlir::Operation& op) {
  FallbackOp interpreted;
  interpreted.name = op.getName().getStringRef().str();
  interpreted.place = placeOf(op.getLoc());
  for (mlir::Value v : op.getOperands()) interpreted.arguments.push_back(typeOfValue(v));
  for (mlir::Value v : op.getResults()) interpreted.arguments.push_back(typeOfValue(v));
  mlir::OwningOpRef<mlir::ModuleOp> module = outline(op);
  auto program = machine::compile(*module->getOps<mlir::func::FuncOp>().begin(), {});
  if (!program) return fail(std::move(program.error()));
  interpreted.program = std::move(*program);
  ops_.push_back(std::move(interpreted));
  return static_cast<int>(ops_.size()) - 1;
}

struct FallbackContext::Runner {
  Runner(const FallbackOp& op, Effects& effects) : execution(op.program), buffers(op.arguments.size()), core(effects) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].type = op.arguments[i];
      if (buffers[i].type.shape.empty()) buffers[i].type.shape = {1};
      refs.push_back({});
    }
  }
  machine::Execution execution;
  std::vector<machine::Buffer> buffers;
  std::vector<machine::Argument> refs;
  LocalCore core;
};

FallbackContext::FallbackContext(const FallbackOps& ops) : ops_(ops), runners_(ops.all().size()) {}
FallbackContext::~FallbackContext() = default;

void FallbackContext::restart() {
  effects_ = {};
  hazards.clear();
}

int FallbackContext::run(int op, void** pointers) {
  auto& runner = runners_[static_cast<size_t>(op)];
  if (!runner) runner = std::make_unique<Runner>(ops_.all()[static_cast<size_t>(op)], effects_);
  for (size_t i = 0; i < runner->buffers.size(); ++i) {
    machine::Buffer& buffer = runner->buffers[i];
    buffer.storage = Array::view(buffer.type, pointers[i]);
    runner->refs[i] = machine::Ref::whole(buffer);
  }
  runner->execution.start(runner->refs);
  auto state = runner->execution.run(runner->core, INT64_MAX);
  return state && *state == machine::RunState::finished ? 0 : 1;
}

NativeResult lowerByInterpreter(NativeLowering& l, mlir::Operation& op) {
  const std::string name = op.getName().getStringRef().str();
  const bool hasEffect = llvm::isa<tpu::LogOp, tpu::LogBufferOp, tpu::PrngSetSeed32Op, tpu::PrngRandomBitsOp>(op);
  if (!(isPure(op) || hasEffect) || llvm::any_of(op.getResultTypes(), isRef) || op.getNumRegions() != 0)
    return unsupported("it uses " + name);
  for (mlir::Value v : op.getOperands())
    if (isRef(v.getType()) && (!l.hasRef(v) || l.ref(v).dynamic() || l.ref(v).extendsPast() || l.ref(v).shape.empty()))
      return unsupported("it uses " + name);
  auto number = l.interpreted.add(op);
  if (!number) return unsupported("it uses " + name);
  Builder& b = l.b;
  std::vector<Reg> pointers;
  std::vector<View> keep;  // until the call
  for (mlir::Value v : op.getOperands()) {
    if (isRef(v.getType()) || llvm::isa<mlir::VectorType>(v.getType())) {
      View view = isRef(v.getType()) ? l.ref(v) : l.view(v);
      if (!isDense(view)) view = l.denseCopy(view);
      pointers.push_back(view.base);
      keep.push_back(std::move(view));
    } else {
      Reg value = l.scalar(v);
      if (!value) return unsupported("it uses " + name);
      View slot = l.allocate(elementDType(v.getType()), Shape{});
      storeElements(b, slot.dtype, value, slot.base, 1);
      pointers.push_back(slot.base);
      keep.push_back(std::move(slot));
    }
  }
  std::vector<View> results;
  for (mlir::Value v : op.getResults()) {
    results.push_back(l.allocate(elementDType(v.getType()), shapeOf(v.getType())));
    pointers.push_back(results.back().base);
  }
  auto* table = llvm::ArrayType::get(b.getPtrTy(), pointers.size());
  auto& entry = l.function->getEntryBlock();
  Reg slots = Builder(&entry, entry.begin()).CreateAlloca(table);
  for (size_t i = 0; i < pointers.size(); ++i)
    b.CreateStore(pointers[i], b.CreateConstInBoundsGEP2_64(table, slots, 0, i));
  auto callee =
      l.module.getOrInsertFunction(kInterpretSymbol, b.getInt32Ty(), b.getPtrTy(), b.getInt32Ty(), b.getPtrTy());
  Reg code = b.CreateCall(callee, {l.context, b.getInt32(static_cast<uint32_t>(*number)), slots});
  l.require(b.CreateICmpEQ(code, b.getInt32(0)));
  for (size_t i = 0; i < results.size(); ++i) {
    const mlir::Value v = op.getResult(static_cast<unsigned>(i));
    if (llvm::isa<mlir::VectorType>(v.getType()))
      l.setView(v, results[i]);
    else
      l.setScalar(v, loadElements(b, results[i].dtype, results[i].base, 1));
  }
  if (!llvm::is_contained(l.report.interpreted, name)) l.report.interpreted.push_back(name);
  return {};
}

}  // namespace smalti::cpu
