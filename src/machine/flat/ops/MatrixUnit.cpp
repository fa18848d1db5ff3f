// The explicit MXU: weights are pushed to a staging register, loaded, and multiplied with what is fed from the left;
// products go to accumulators (newer TPUs) or to a first-in first-out queue.
#include <cstring>

#include <fmt/format.h>

#include "eval/Shape.h"
#include "machine/flat/ops/Matmul.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

bool isMatrix(mlir::Value v) { return shapeOf(v.getType()).size() == 2; }

/// A slot's value as a dense matrix of its own.
StoredMatrix keep(Frame& frame, const Operand& o, bool transposed) {
  StoredMatrix m;
  m.type = {o.dtype, o.shape};
  if (transposed) std::swap(m.type.shape[0], m.type.shape[1]);
  m.data.resize(static_cast<size_t>(m.type.bytes()));
  const auto n = static_cast<size_t>(o.elements());
  const uint8_t* mask = frame.mask(o);
  if (mask) m.mask.resize(n);
  const Shape permutation = transposed ? Shape{1, 0} : Shape{0, 1};
  eval::transpose(frame.input(o), permutation, {m.data.data(), o.dtype, m.type.shape});
  if (mask)
    eval::transpose({reinterpret_cast<const std::byte*>(mask), DType::pred, o.shape, o.splat}, permutation,
                    {reinterpret_cast<std::byte*>(m.mask.data()), DType::pred, m.type.shape});
  return m;
}

struct PushRhs : Payload {
  Operand rhs;
  int unit = 0, staging = 0;
  bool transposed = false;
  void run(Frame& frame) const { frame.matrixUnits[unit].staged[staging] = keep(frame, rhs, transposed); }
};

Status lowerPushRhs(FlatLowering& lowering, mlir::Operation& op) {
  if (!isMatrix(op.getOperand(0))) return lowering.refuse(op);
  PushRhs payload;
  payload.rhs = lowering.operand(op.getOperand(0));
  payload.unit = static_cast<int>(integerAttribute(op, "mxu_index", 0));
  payload.staging = static_cast<int>(integerAttribute(op, "staging_register", 0));
  payload.transposed = boolAttribute(op, "transpose");
  lowering.emit(std::move(payload));
  return {};
}

/// lhs · weights, to the queue or to an accumulator.
struct FeedLhs : Payload {
  Operand lhs;
  int unit = 0;
  int load = -1;         ///< staging register whose content becomes the weights first
  int accumulator = -1;  ///< -1: the queue
  eval::DotNumerics numerics = eval::DotNumerics::full;

  bool run(Frame& frame) const {
    MatrixUnit& u = frame.matrixUnits[unit];
    if (load >= 0) {
      const auto staged = u.staged.find(load);
      if (staged == u.staged.end())
        return misuse(
            frame, fmt::format("staging register {} of MXU {} is loaded before anything was pushed to it", load, unit));
      u.weights = staged->second;
    }
    const StoredMatrix& w = u.weights;
    if (w.type.shape.size() != 2 || w.type.shape[0] != lhs.shape[1])
      return misuse(frame,
                    fmt::format("MXU {} multiplies {} with weights {}", unit, ArrayType{lhs.dtype, lhs.shape}.str(),
                                w.type.shape.empty() ? "that were never loaded" : w.type.str()));
    StoredMatrix product;
    const DType dtype = is_float(lhs.dtype) ? DType::f32 : DType::i32;
    product.type = {dtype, {lhs.shape[0], w.type.shape[1]}};
    if (!hasProduct(lhs.dtype, w.type.dtype, dtype, dtype))
      return misuse(frame, "the MXU has no product of these dtypes");
    product.data.resize(static_cast<size_t>(product.type.bytes()));
    StoredMatrix* sum = nullptr;
    if (accumulator >= 0) {
      StoredMatrix& old = u.accumulators[accumulator];
      if (!old.data.empty() && old.type != product.type)
        return misuse(frame, fmt::format("accumulator {} of MXU {} holds {}", accumulator, unit, old.type.str()));
      sum = &old;
    }
    uint32_t zero = 0;
    const bool fresh = !sum || sum->data.empty();
    const eval::Input acc{fresh ? reinterpret_cast<const std::byte*>(&zero) : sum->data.data(), dtype,
                          product.type.shape, fresh};
    const DotDimensions kPlain{{1}, {0}, {0}, {1}, {}, {}};
    eval::dotGeneral(frame.input(lhs), {w.data.data(), w.type.dtype, w.type.shape, false}, viewOf(kPlain), acc,
                     {product.data.data(), dtype, product.type.shape}, numerics);
    mask(frame, w, fresh ? nullptr : sum, product);
    if (sum)
      *sum = std::move(product);
    else
      u.fifo.push_back(std::move(product));
    return true;
  }

  void mask(Frame& frame, const StoredMatrix& w, const StoredMatrix* sum, StoredMatrix& product) const {
    const uint8_t* lhsMask = frame.mask(lhs);
    const bool masked = lhsMask || !w.mask.empty() || (sum && !sum->mask.empty());
    if (!masked) return;
    const auto n = static_cast<size_t>(product.type.elements());
    product.mask.assign(n, 1);
    if (sum && !sum->mask.empty()) product.mask = sum->mask;
    if (lhsMask && lhs.splat) {
      if (!*lhsMask) product.mask.assign(n, 0);
      lhsMask = nullptr;
    }
    const DotDimensions kPlain{{1}, {0}, {0}, {1}, {}, {}};
    eval::dotGeneralMask(lhsMask, lhs.shape, w.mask.empty() ? nullptr : w.mask.data(), w.type.shape, viewOf(kPlain),
                         product.mask.data(), static_cast<int64_t>(n));
  }

  static bool misuse(Frame& frame, std::string message) {
    return frame.fail({.code = "SM4013", .message = std::move(message), .place = {}});
  }
};

Status lowerFeedLhs(FlatLowering& lowering, mlir::Operation& op) {
  if (!isMatrix(op.getOperand(0))) return lowering.refuse(op);
  FeedLhs payload;
  payload.lhs = lowering.operand(op.getOperand(0));
  payload.unit = static_cast<int>(integerAttribute(op, "mxu_index", 0));
  payload.load = static_cast<int>(integerAttribute(op, "load_staged_rhs", -1));
  payload.numerics = numericsOf(lowering.options(), "");
  if (op.getName().getStringRef() == "tpu.matmul_acc_lhs") {
    payload.accumulator = static_cast<int>(integerAttribute(op, "acc", integerAttribute(op, "acc_addr", -1)));
    if (payload.accumulator < 0) return lowering.refuse(op);
  }
  lowering.emit(std::move(payload));
  return {};
}

struct Pop : Payload {
  Operand out;
  int unit = 0;
  int accumulator = -1;  ///< -1: the queue
  bool run(Frame& frame) const {
    MatrixUnit& u = frame.matrixUnits[unit];
    StoredMatrix m;
    if (accumulator < 0) {
      if (u.fifo.empty())
        return FeedLhs::misuse(frame, fmt::format("matmul_pop_fifo: the FIFO of MXU {} is empty", unit));
      m = std::move(u.fifo.front());
      u.fifo.pop_front();
    } else {
      // Popping clears; an accumulator that nothing was added to holds zeros.
      m = std::exchange(u.accumulators[accumulator], {});
      if (m.data.empty()) {
        m.type = {out.dtype, out.shape};
        m.data.resize(static_cast<size_t>(m.type.bytes()));
      }
    }
    if (m.type != ArrayType{out.dtype, out.shape})
      return FeedLhs::misuse(frame, fmt::format("MXU {} has a product of type {} where {} is popped", unit,
                                                m.type.str(), ArrayType{out.dtype, out.shape}.str()));
    Slot& slot = frame.slots[out.slot];
    std::memcpy(slot.data, m.data.data(), m.data.size());
    slot.mask = nullptr;
    if (!m.mask.empty()) {
      std::memcpy(frame.newMask(slot), m.mask.data(), m.mask.size());
      frame.tidyMask(out);
    }
    return true;
  }
};

Status lowerPop(FlatLowering& lowering, mlir::Operation& op) {
  const DType dtype = elementDType(op.getResult(0).getType());
  if (!isMatrix(op.getResult(0)) || (dtype != DType::f32 && dtype != DType::i32)) return lowering.refuse(op);
  Pop payload;
  payload.unit = static_cast<int>(integerAttribute(op, "mxu_index", 0));
  if (op.getName().getStringRef() == "tpu.matmul_pop") {
    payload.accumulator = static_cast<int>(integerAttribute(op, "acc", integerAttribute(op, "acc_addr", -1)));
    if (payload.accumulator < 0) return lowering.refuse(op);
  }
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kMatrixUnitTable[] = {
    {"tpu.matmul_acc_lhs", lowerFeedLhs, OpClass::matrix},  {"tpu.matmul_lhs_fifo", lowerFeedLhs, OpClass::matrix},
    {"tpu.matmul_pop", lowerPop, OpClass::matrix},          {"tpu.matmul_pop_fifo", lowerPop, OpClass::matrix},
    {"tpu.matmul_push_rhs", lowerPushRhs, OpClass::matrix},
};

}  // namespace

std::span<const FlatOpRow> matrixUnitTable() { return kMatrixUnitTable; }

}  // namespace smalti::machine::flat
