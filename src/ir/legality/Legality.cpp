#include "ir/Legality.h"

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/Tpu.h"
#include "ir/Types.h"
#include "ir/legality/Rules.h"

namespace smalti {

void legality::checkVmem(const KernelPackage& p, const Chip& chip, std::vector<Diagnostic>& out) {
  int64_t limit = chip.defaultVmemBytes;
  for (const auto& s : p.config.scopedMemory)
    if (s.memorySpace == 1) limit = s.size;
  limit = std::min(limit, chip.vmemCapacityBytes);
  const int64_t used = vmemBytesAtLeast(p);
  if (used <= limit) return;
  out.push_back(
      {.code = "SM6605",
       .message = "the windows and scratch of the kernel do not fit into VMEM",
       .place = placeOf(p.kernelFunction().getLoc()),
       .where = {fmt::format("chip {}", chip.name)},
       .need = fmt::format("at most {:.2f} MiB", static_cast<double>(limit) / (1 << 20)),
       .have = fmt::format("{:.2f} MiB, before what the compiler adds", static_cast<double>(used) / (1 << 20)),
       .help = limit < chip.vmemCapacityBytes
                   ? fmt::format("choose smaller blocks, or set vmem_limit_bytes (the chip has {} MiB)",
                                 chip.vmemCapacityBytes >> 20)
                   : "choose smaller blocks"});
}

void legality::checkOps(const KernelPackage& p, const Chip& chip, std::vector<Diagnostic>& out) {
  const auto add = [&](const char* code, mlir::Operation* op, std::string message, std::string need, std::string have,
                       std::string help) {
    out.push_back({.code = code,
                   .message = std::move(message),
                   .place = placeOf(op->getLoc()),
                   .where = {fmt::format("chip {}", chip.name)},
                   .need = std::move(need),
                   .have = std::move(have),
                   .help = std::move(help)});
  };
  p.kernelFunction().walk([&](mlir::Operation* op) {
    const llvm::StringRef name = op->getName().getStringRef();
    const auto operand = [&](unsigned i) { return arrayTypeOf(op->getOperand(i).getType()); };
    if (name == "tpu.matmul") {
      for (unsigned i : {0u, 1u}) {
        const auto t = operand(i);
        if (!t) continue;
        const bool wideInteger = is_integer(t->dtype) && bit_width(t->dtype) >= 16;
        const bool narrow = bit_width(t->dtype) < 16;
        const auto other = operand(1 - i);
        const bool converted = other && is_float(other->dtype) && bit_width(other->dtype) >= 16 && is_integer(t->dtype);
        if (wideInteger || t->dtype == DType::f16 || (narrow && !chip.narrowMatmul && !converted))
          return add("SM6606", op, fmt::format("Unsupported matmul {} type on target", i == 0 ? "LHS" : "RHS"),
                     chip.narrowMatmul ? "f32, bf16, 8-bit or 4-bit operands" : "f32 or bf16 operands", t->str(),
                     chip.narrowMatmul ? "convert the operand to f32 or bf16" : "convert to bf16, or use another chip");
      }
    } else if (name == "vector.load" || name == "tpu.vector_load" || name == "tpu.strided_load") {
      const auto t = arrayTypeOf(op->getResult(0).getType());
      if (t && t->dtype == DType::f16)
        add("SM6607", op, "Invalid vector type for load", "bf16 or f32", t->str(), "keep the array as bf16");
    }
  });
}

void legality::checkCopies(const KernelPackage& p, const std::string& where, std::vector<Diagnostic>& out) {
  p.kernelFunction().walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() != "tpu.enqueue_dma" || op->getNumOperands() == 0) return;
    const auto t = arrayTypeOf(op->getOperand(0).getType());
    if (t && t->dtype == DType::pred)
      out.push_back({.code = "SM6608",
                     .message = "DMAs with bool dtypes are not supported",
                     .place = placeOf(op->getLoc()),
                     .where = {where},
                     .need = "elements of at least 4 bits",
                     .have = t->str(),
                     .help = "keep the array as i8 or i32"});
  });
}

namespace {

std::vector<Diagnostic> inKernel(const KernelPackage& p, std::vector<Diagnostic> found) {
  for (Diagnostic& d : found) d.where.insert(d.where.begin(), fmt::format("kernel '{}'", p.name));
  return found;
}

}  // namespace

std::vector<Diagnostic> notLowered(const KernelPackage& p) {
  std::vector<Diagnostic> out;
  if (!p.kernelFunction()) return out;
  legality::checkBlocks(p, "every chip", out);
  legality::checkCopies(p, "every chip", out);
  return inKernel(p, std::move(out));
}

std::vector<Diagnostic> illegalOn(const Chip& chip, const KernelPackage& p) {
  std::vector<Diagnostic> out;
  if (!p.kernelFunction()) return out;
  const std::string where = fmt::format("chip {}", chip.name);
  legality::checkBlocks(p, where, out);
  legality::checkCopies(p, where, out);
  legality::checkVmem(p, chip, out);
  legality::checkOps(p, chip, out);
  return inKernel(p, std::move(out));
}

Status checkLegal(const KernelPackage& p, std::string_view name) {
  const Chip* chip = findChip(name);
  if (!chip && !name.empty())
    return fail({.code = "SM6609",
                 .message = "there is no such chip",
                 .place = {},
                 .need = "v4, v5e, v5p, v6e or v7x",
                 .have = std::string(name),
                 .help = "name the generation of the TPU"});
  std::vector<Diagnostic> found = chip ? illegalOn(*chip, p) : notLowered(p);
  if (found.empty()) return {};
  Diagnostic d = std::move(found.front());
  d.related.assign(std::make_move_iterator(found.begin() + 1), std::make_move_iterator(found.end()));
  return fail(std::move(d));
}

}  // namespace smalti
