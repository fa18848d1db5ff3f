// What Pallas' own lowering refuses, for any TPU: block shapes (E-B1 to E-B4), copies of bools, atomic updates.
#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/TpuOps.h"
#include "ir/TpuOpsAtomic.h"
#include "ir/Types.h"
#include "tpu/Legality.h"
#include "tpu/ShapeText.h"

namespace smalti::tpu {
namespace {

constexpr const char* kEveryChip = "every chip";

struct Block {
  std::string operand;  ///< "input 0"
  const Window* window;
  ArrayType array;
  MemorySpace space;
  SourcePlace place;
};

bool isTrivial(const KernelPackage& p, const Block& b) {
  if (b.window->bounds != b.array.shape) return false;
  mlir::ModuleOp module = *p.module;
  auto map = module.lookupSymbol<mlir::func::FuncOp>(b.window->transform);
  if (!map || map.empty()) return false;
  for (mlir::Value v : map.front().getTerminator()->getOperands())
    if (!mlir::matchPattern(v, mlir::m_Zero())) return false;
  return true;
}

void check(const KernelPackage& p, const Block& b, std::vector<Diagnostic>& out) {
  const Shape &block = b.window->bounds, &array = b.array.shape;
  const auto add = [&](const char* code, std::string message, std::string need, std::string help) {
    out.push_back({.code = code,
                   .message = std::move(message),
                   .place = b.place,
                   .where = {kEveryChip, b.operand},
                   .need = std::move(need),
                   .have = fmt::format("block {} of {}", tuple(block), b.array.str()),
                   .help = std::move(help)});
  };
  if (b.space == MemorySpace::semaphore_mem || (b.space == MemorySpace::smem && isTrivial(p, b))) return;
  const size_t rank = block.size();
  if (rank < 1)
    return add("SM6603", "The Pallas TPU lowering currently supports only blocks of rank >= 1", "a block with axes",
               "put the scalar in SMEM, or make it an array of shape (1, 1)");
  if (b.space == MemorySpace::any || b.space == MemorySpace::hbm) {
    if (!isTrivial(p, b))
      add("SM6604",
          "The Pallas TPU lowering currently supports in memory space ANY only blocks having the same block shape as "
          "the array shape and a trivial index_map (returning all 0s)",
          fmt::format("block {} and an index map of zeros", tuple(array)),
          "pass the whole array, and copy parts of it with make_async_copy");
    return;
  }
  if (rank >= 2) {
    const bool lanes = block[rank - 1] == array[rank - 1] || block[rank - 1] % 128 == 0;
    const bool rows = block[rank - 2] == array[rank - 2] || block[rank - 2] % 8 == 0;
    if (!lanes || !rows)
      add("SM6601",
          "The Pallas TPU lowering currently requires that the last two dimensions of your block shape are divisible "
          "by "
          "8 and 128 respectively, or be equal to the respective dimensions of the overall array",
          !lanes ? fmt::format("{} or a multiple of 128 along axis {}", array[rank - 1], rank - 1)
                 : fmt::format("{} or a multiple of 8 along axis {}", array[rank - 2], rank - 2),
          "choose such a block; the last block along an axis may extend past its end");
    return;
  }
  const int64_t bits = b.array.dtype == DType::pred ? 32 : std::min(bit_width(b.array.dtype), 32);
  const int64_t size = block[0], tiling = 128 * (32 / bits);
  const bool power = (size & (size - 1)) == 0 && size >= tiling;
  if (size != array[0] && size % 1024 != 0 && !power)
    add("SM6602",
        "The Pallas TPU lowering currently requires that rank 1 block shapes are the whole array, a multiple of 1024, "
        "or a power of 2 that is at least the tiling size",
        fmt::format("{}, a multiple of 1024, or a power of 2 of at least {}", array[0], tiling),
        "choose such a block; the last block may extend past the end of the array");
}

void checkBlocks(const KernelPackage& p, std::vector<Diagnostic>& out) {
  const KernelArguments arguments(p);
  if (arguments.function().getNumArguments() < arguments.count()) return;
  for (size_t i = 0; i < arguments.numBlocks(); ++i) {
    const auto& window = arguments.windowOf(i);
    if (!window) continue;
    const auto type = mlir::dyn_cast<mlir::MemRefType>(arguments.block(i).getType());
    const auto space = type ? memorySpaceOf(type) : std::nullopt;
    if (!space) continue;
    auto map = arguments.indexMap(*window);
    check(p,
          {arguments.roleOf(arguments.block(i))->str(), &*window, arguments.arrayOf(i), *space,
           placeOf(map ? map.getLoc() : arguments.function().getLoc())},
          out);
  }
}

void checkCopies(const KernelPackage& p, std::vector<Diagnostic>& out) {
  p.kernelFunction().walk([&](EnqueueDMAOp op) {
    const auto t = arrayTypeOf(op->getOperand(0).getType());
    if (!t || t->dtype != DType::pred) return;
    out.push_back({.code = "SM6608",
                   .message = "DMAs with bool dtypes are not supported",
                   .place = smalti::placeOf(op->getLoc()),
                   .where = {kEveryChip},
                   .need = "elements of at least 4 bits",
                   .have = t->str(),
                   .help = "keep the array as i8 or i32"});
  });
}

/// Its name in the language, in which u32 has no kinds of its own.
std::string_view functionOf(llvm::StringRef kind) { return kind == "maxu" ? "max" : kind == "minu" ? "min" : kind; }

void checkAtomics(const KernelPackage& p, std::vector<Diagnostic>& out) {
  p.kernelFunction().walk([&](AtomicOp op) {
    out.push_back({.code = "SM6402",
                   .message = fmt::format("'atomic_{}' is in kernels for CPUs and GPUs only", functionOf(op.getKind())),
                   .place = smalti::placeOf(op->getLoc()),
                   .where = {kEveryChip},
                   .need = "an op that a TensorCore has",
                   .have = fmt::format("tpu.atomic \"{}\"", op.getKind().str()),
                   .help = "the programs of a TensorCore run one after the other: read, compute and write in VMEM"});
  });
}

}  // namespace

std::vector<Diagnostic> notLowered(const KernelPackage& p) {
  std::vector<Diagnostic> found;
  if (!p.kernelFunction()) return found;
  checkBlocks(p, found);
  checkCopies(p, found);
  checkAtomics(p, found);
  for (Diagnostic& d : found) d.where.insert(d.where.begin(), fmt::format("kernel '{}'", p.name));
  return found;
}

}  // namespace smalti::tpu
