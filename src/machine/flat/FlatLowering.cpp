#include "machine/flat/FlatLowering.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "mlir/IR/TypeUtilities.h"

#include "machine/flat/Plan.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// Nesting of regions; the recursion of the lowering is bounded by it.
constexpr int kDeepestNesting = 200;

}  // namespace

FlatLowering::FlatLowering(mlir::func::FuncOp function, const CompileOptions& options)
    : function_(function), options_(options), liveness_(function), program_(std::make_shared<FlatProgram>()) {}

Result<std::shared_ptr<const FlatProgram>> FlatLowering::run() {
  current_ = function_;
  if (!llvm::hasSingleElement(function_.getBody()))
    return fail({.code = "SM4001",
                 .message = fmt::format(
                     "function '{}' has {} blocks; kernels are structured: one block, scf ops for control flow",
                     function_.getName().str(), function_.getBody().getBlocks().size()),
                 .place = placeOf(function_.getLoc()),
                 .need = "1 block"});
  mlir::Block& body = function_.getBody().front();
  for (mlir::BlockArgument argument : body.getArguments()) {
    const mlir::Type type = argument.getType();
    if (isRef(argument)) {
      program_->parameters.push_back({true, defineRef(argument)});
    } else if (type.isInteger(32)) {
      program_->parameters.push_back({false, define(argument).slot});
    } else {
      return fail({.code = "SM4001",
                   .message = fmt::format(
                       "argument {} of function '{}' is {}; kernels take grid indices (i32) and refs (memref)",
                       argument.getArgNumber(), function_.getName().str(), typeText(type)),
                   .place = placeOf(function_.getLoc())});
    }
  }
  openScope();
  if (Status s = lowerBody(body); !s) return tl::unexpected(s.error());
  mlir::Operation& terminator = body.back();
  enterOp(terminator, known(terminator));
  closeScope();
  current_ = &terminator;
  program_->results = operands(terminator.getOperands());
  for (const Operand& result : program_->results)
    if (result.dtype != DType::i32 || !result.shape.empty())
      return tl::unexpected(refuse(terminator, "functions return i32 scalars").value());
  emit(&finish);
  if (Status s = plan(); !s) return tl::unexpected(s.error());
  return std::shared_ptr<const FlatProgram>(program_);
}

// ---- values

int32_t FlatLowering::newSlot(SlotInit init) {
  program_->slots.push_back(init);
  storageOfSlot_.push_back(-1);
  return static_cast<int32_t>(program_->slots.size()) - 1;
}

int32_t FlatLowering::newStorage(int64_t bytes) {
  storages_.push_back({.bytes = bytes});
  return static_cast<int32_t>(storages_.size()) - 1;
}

void FlatLowering::touch(int32_t storage, int instruction) {
  if (storage < 0) return;
  Storage& s = storages_[static_cast<size_t>(storage)];
  s.first = s.first < 0 ? instruction : std::min(s.first, instruction);
  s.last = std::max(s.last, instruction);
}

void FlatLowering::bind(mlir::Value value, Value v) {
  values_[value] = v;
  if (v.storage < 0) return;
  Storage& s = storages_[static_cast<size_t>(v.storage)];
  s.lastUse = std::max(s.lastUse, liveness_.lastUse(value));
}

Operand FlatLowering::as(mlir::Type type, const Value& v) const {
  return {.slot = v.slot, .dtype = elementDType(type), .shape = shapeOf(type), .splat = v.splat};
}

Operand FlatLowering::operand(mlir::Value value) const { return as(value.getType(), values_.lookup(value)); }

std::vector<Operand> FlatLowering::operands(mlir::ValueRange range) const {
  std::vector<Operand> result;
  for (mlir::Value v : range) result.push_back(operand(v));
  return result;
}

int32_t FlatLowering::ref(mlir::Value value) const { return refs_.lookup(value); }

bool FlatLowering::coalesce(mlir::Value result, mlir::ValueRange reuse, int64_t bytes, Value& out) {
  const auto request = coalescing_.find(result);
  if (request == coalescing_.end()) return false;
  const Value target = values_.lookup(request->second);
  if (target.storage < 0 || target.splat) return false;
  const Storage& storage = storages_[static_cast<size_t>(target.storage)];
  if (storage.bytes != bytes || !current_) return false;
  const int now = liveness_.begin(current_);
  const bool overwritten = storage.lastUse == now && llvm::any_of(reuse, [&](mlir::Value v) {
                             return values_.lookup(v).storage == target.storage && !values_.lookup(v).splat;
                           });
  if (storage.lastUse >= now && !overwritten) return false;
  out = target;
  return true;
}

bool FlatLowering::takeOperand(mlir::Value result, mlir::ValueRange reuse, int64_t bytes, Value& out) {
  for (mlir::Value v : reuse) {
    const Value value = values_.lookup(v);
    if (value.storage < 0 || value.splat) continue;
    const Storage& storage = storages_[static_cast<size_t>(value.storage)];
    if (storage.bytes != bytes || storage.lastUse != liveness_.begin(current_)) continue;
    out = {.slot = newSlot({.kind = SlotInit::Kind::arena}), .storage = value.storage};
    storageOfSlot_.back() = value.storage;
    return true;
  }
  return false;
}

Operand FlatLowering::define(mlir::Value result, bool splat, mlir::ValueRange reuse) {
  const Operand shape = as(result.getType(), {});
  const int64_t elements = checkedElements(shape.shape);
  Value v{.splat = splat && !shape.shape.empty()};
  if (splat || elements == 1) {
    v.slot = newSlot({});
  } else {
    const int64_t bytes = elements < 0 ? kMaxValueBytes + 1 : elements * storage_bytes(shape.dtype);
    if (bytes > kMaxValueBytes) tooLarge_ = true;
    if (!coalesce(result, reuse, bytes, v) && !takeOperand(result, reuse, bytes, v)) {
      v.slot = newSlot({.kind = SlotInit::Kind::arena});
      v.storage = storageOfSlot_.back() = newStorage(bytes);
    }
  }
  bind(result, v);
  return as(result.getType(), v);
}

int32_t FlatLowering::defineRef(mlir::Value result) { return refs_[result] = program_->refs++; }

void FlatLowering::alias(mlir::Value result, mlir::Value source) {
  if (isRef(result))
    refs_[result] = ref(source);
  else
    bind(result, values_.lookup(source));
}

void FlatLowering::aliasSplat(mlir::Value result, mlir::Value source) {
  Value v = values_.lookup(source);
  v.splat = !shapeOf(result.getType()).empty();
  bind(result, v);
}

void FlatLowering::constant(mlir::Value result, const void* element) {
  SlotInit init;
  std::memcpy(&init.bits, element, static_cast<size_t>(storage_bytes(elementDType(result.getType()))));
  bind(result, {.slot = newSlot(init), .splat = !shapeOf(result.getType()).empty()});
}

void FlatLowering::denseConstant(mlir::Value result, std::span<const std::byte> data) {
  auto& pool = program_->constants;
  pool.resize((pool.size() + 63) / 64 * 64);
  SlotInit init{.kind = SlotInit::Kind::constant, .offset = static_cast<int64_t>(pool.size())};
  pool.insert(pool.end(), data.begin(), data.end());
  bind(result, {.slot = newSlot(init)});
}

Operand FlatLowering::scratchScalar(DType dtype) { return {.slot = newSlot({}), .dtype = dtype}; }

void FlatLowering::defineMerged(mlir::Value value) {
  if (isRef(value)) {
    defineRef(value);
    return;
  }
  define(value);
  const Value v = values_.lookup(value);
  // An op's result is written only when its region ends; until then its storage is free for the moved value.
  if (v.storage >= 0 && value.getDefiningOp()) storages_[static_cast<size_t>(v.storage)].lastUse = -1;
}

void FlatLowering::settleMerged(mlir::Value value) {
  if (!isRef(value)) bind(value, values_.lookup(value));
}

// ---- code

int32_t FlatLowering::placeNumber() {
  if (current_ && mlir::LocationAttr(current_->getLoc()) != location_) {
    location_ = current_->getLoc();
    const SourcePlace place = placeOf(current_->getLoc());
    if (program_->places.empty() || !(program_->places.back() == place)) program_->places.push_back(place);
  }
  return static_cast<int32_t>(program_->places.size()) - 1;
}

Instruction& FlatLowering::emit(Handler handler) {
  program_->placeOf.push_back(placeNumber());
  program_->table.opOf.push_back(currentOp_);
  program_->code.push_back({});
  program_->code.back().run = handler;
  quietSince_ = here();
  return program_->code.back();
}

void FlatLowering::moveLastTo(int index) {
  const auto rotate = [&](auto& v) { std::rotate(v.begin() + index, v.end() - 1, v.end()); };
  rotate(program_->code);
  rotate(program_->placeOf);
  rotate(program_->table.opOf);
}

int FlatLowering::latestInstruction(mlir::Value value, mlir::Block* block) const {
  mlir::Operation* op = value.getDefiningOp();
  while (op && value.hasOneUse() && op->getName().getStringRef() == "vector.shape_cast") {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  if (!op || !value.hasOneUse() || op->getBlock() != block || op->getNumRegions() != 0) return -1;
  const auto at = definedAt_.find(values_.lookup(value).slot);
  return at != definedAt_.end() && at->second + 1 == quietSince_ ? at->second : -1;
}

void FlatLowering::closeLoop(int begin) {
  const int end = here() - 1;
  for (Storage& s : storages_)
    if (s.first >= 0 && s.first < begin && s.last >= begin) s.last = std::max(s.last, end);
}

// ---- ops

Status FlatLowering::lowerBody(mlir::Block& block) {
  if (++depth_ > kDeepestNesting)
    return fail({.code = "SM9004",
                 .message = fmt::format("regions are nested deeper than {}", kDeepestNesting),
                 .place = placeOf(block.getParentOp()->getLoc()),
                 .need = fmt::format("at most {} nested regions", kDeepestNesting)});
  std::vector<int32_t> ops;
  for (mlir::Operation& op : block.without_terminator()) {
    const auto number = static_cast<int32_t>(program_->table.ops.size());
    if (Status s = lowerOp(op); !s) return s;
    if (static_cast<size_t>(number) < program_->table.ops.size()) ops.push_back(number);
  }
  attachOps(ops);
  --depth_;
  if (!block.empty()) current_ = &block.back();
  return {};
}

int32_t FlatLowering::typeNumber(mlir::Type type) {
  OpTable& table = program_->table;
  const auto [number, isNew] = typeNumbers_.try_emplace(type, static_cast<int32_t>(table.types.size()));
  if (isNew) {
    auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
    table.types.push_back({dtypeOf(mlir::getElementTypeOrSelf(type)).value_or(DType::i32), shapeOf(type),
                           memref ? memorySpaceOf(memref) : std::nullopt});
  }
  return number->second;
}

FlatLowering::KnownName FlatLowering::known(mlir::Operation& op) {
  std::vector<std::string>& names = program_->table.names;
  const auto [known, isNew] = names_.try_emplace(op.getName().getAsOpaquePointer());
  if (isNew) {
    known->second = {static_cast<int32_t>(names.size()), rowOf(op)};
    names.push_back(op.getName().getStringRef().str());
  }
  return known->second;
}

int32_t FlatLowering::enterOp(mlir::Operation& op, KnownName name) {
  OpTable& table = program_->table;
  OpTable::Op entry{.name = name.number,
                    .place = placeNumber(),
                    .kind = classOf(op, name.row),
                    .firstType = static_cast<int32_t>(table.typeOf.size()),
                    .numOperands = static_cast<int32_t>(op.getNumOperands()),
                    .numResults = static_cast<int32_t>(op.getNumResults())};
  for (mlir::Type type : op.getOperandTypes()) table.typeOf.push_back(typeNumber(type));
  for (mlir::Type type : op.getResultTypes()) table.typeOf.push_back(typeNumber(type));
  table.ops.push_back(entry);
  return std::exchange(currentOp_, static_cast<int32_t>(table.ops.size()) - 1);
}

void FlatLowering::attachOps(std::span<const int32_t> ops) {
  std::vector<OpTable::Op>& all = program_->table.ops;
  int32_t near = -1;
  // The next one that has instructions, at the block's end the last one. `comesWith` of an op with instructions is
  // itself, which `lowerOp` has set.
  for (size_t i = ops.size(); i-- > 0;) {
    OpTable::Op& op = all[static_cast<size_t>(ops[i])];
    if (op.comesWith == ops[i])
      near = ops[i];
    else
      op.comesWith = near;
  }
  int32_t last = -1;
  for (const int32_t number : ops) {
    OpTable::Op& op = all[static_cast<size_t>(number)];
    if (op.comesWith == number) last = number;
    if (op.comesWith < 0) op.comesWith = last;
  }
}

namespace {

size_t rankOf(mlir::Type type) {
  const auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
  return shaped ? shaped.getShape().size() : 0;
}

}  // namespace

Status FlatLowering::lowerOp(mlir::Operation& op) {
  if (liveness_.dead(&op) && isPure(op)) return {};
  current_ = &op;
  for (mlir::Value v : op.getOperands())
    if (!values_.contains(v) && !refs_.contains(v))
      return refuse(op, "it uses a value that the machine has no place for");
  for (mlir::Value v : op.getResults())
    if (!isRef(v) && (!dtypeOf(mlir::getElementTypeOrSelf(v.getType())) || rankOf(v.getType()) > kMaxRank))
      return refuse(op, fmt::format("the machine has no values of type {}", typeText(v.getType())));
  const int from = here();
  const KnownName name = known(op);
  const int32_t outer = enterOp(op, name);
  if (Status s = name.row ? name.row->lower(*this, op) : lowerElementwise(*this, op); !s) return s;
  if (here() > from) program_->table.ops[static_cast<size_t>(currentOp_)].comesWith = currentOp_;
  currentOp_ = outer;
  current_ = &op;
  if (tooLarge_) return fail(tooLargeDiagnostic(placeOf(op.getLoc())));
  if (op.getNumRegions() != 0 || here() == from) return {};
  const auto touchValue = [&](mlir::Value v) {
    const int32_t storage = values_.lookup(v).storage;
    if (!values_.contains(v)) return;
    touch(storage, from);
    touch(storage, here() - 1);
  };
  if (op.getNumResults() == 1 && here() == from + 1) definedAt_[values_.lookup(op.getResult(0)).slot] = from;
  llvm::for_each(op.getOperands(), touchValue);
  llvm::for_each(op.getResults(), touchValue);
  return {};
}

tl::unexpected<Diagnostic> FlatLowering::refuse(mlir::Operation& op, std::string why) const {
  return fail({.code = "SM4001",
               .message = fmt::format("the machine cannot run {}{}{}", opText(op), why.empty() ? "" : ": ", why),
               .place = placeOf(op.getLoc()),
               .help = "`smalti describe` lists the ops a kernel may use"});
}

int FlatLowering::addSite(AllocationSite site) {
  program_->sites.push_back(std::move(site));
  const int index = static_cast<int>(program_->sites.size()) - 1;
  scopes_.back().push_back(index);
  return index;
}

Diagnostic FlatLowering::tooLargeDiagnostic(SourcePlace place) const {
  return {.code = "SM9005",
          .message = "the values of this kernel are too large for the machine",
          .place = std::move(place),
          .need = fmt::format("at most {} bytes of values alive at once", kMaxValueBytes),
          .help = "use smaller blocks"};
}

Status FlatLowering::plan() {
  std::vector<Interval> intervals;
  for (const Storage& s : storages_)
    intervals.push_back({s.first < 0 ? 0 : s.bytes, std::max(s.first, 0), std::max(s.last, 0)});
  int64_t total = 0;
  for (const Interval& i : intervals)
    if (__builtin_add_overflow(total, i.bytes + 64, &total))
      return fail(tooLargeDiagnostic(placeOf(function_.getLoc())));
  const ArenaPlan plan = planArena(intervals);
  if (plan.bytes > kMaxValueBytes) return fail(tooLargeDiagnostic(placeOf(function_.getLoc())));
  program_->arenaBytes = plan.bytes;
  program_->peakBytes = plan.peak;
  for (size_t slot = 0; slot < storageOfSlot_.size(); ++slot)
    if (storageOfSlot_[slot] >= 0)
      program_->slots[slot].offset = plan.offsets[static_cast<size_t>(storageOfSlot_[slot])];
  return {};
}

}  // namespace smalti::machine::flat

namespace smalti::machine {

Result<std::shared_ptr<const FlatProgram>> compile(mlir::func::FuncOp function, const CompileOptions& options) {
  return flat::FlatLowering(function, options).run();
}

int64_t valueBytes(const FlatProgram& program) { return program.peakBytes; }

}  // namespace smalti::machine
