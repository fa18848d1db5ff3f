#include "tpu/rules/Reasons.h"

#include <array>

namespace smalti::tpu {

// The stages are the compiler's passes, in their order.
enum Stage : int { canonicalize = 1, layout = 2, apply = 3, lower = 4, windows = 5, allocate = 6 };

namespace {

constexpr std::array kReasons{
    Reason{"block-shape", "SM6610",
           "E2002: … its block shape … is not divisible by tiling evenly nor matches the full shape", windows},
    Reason{"element-index", "SM6611", "Couldn't prove that tiling … divides index returned by transform_indices",
           windows},
    Reason{"unaligned-index", "SM6612", "E2003: cannot statically prove that index in dimension D is a multiple of T",
           apply},
    Reason{"dma-offset", "SM6613", "Offsets along tiled dimensions must be aligned to tiles", apply},
    Reason{"dma-size", "SM6614", "Slice sizes along tiled dimensions must be aligned to tiles", apply},
    Reason{"dma-linear", "SM6615", "The contiguous inner slice in the DMA transfer must be divisible by 512 bytes",
           lower},
    Reason{"element-type", "SM6616", "failed to legalize operation 'arith.…' or 'math.…'", lower},
    Reason{"narrow-arithmetic", "SM6617", "Only vector<i16> and vector<i32> are supported, but got …", canonicalize},
    Reason{"scalar-type", "SM6635", "Only i32 arith.addi is supported, but got …", canonicalize},
    Reason{"f16", "SM6607", "Invalid vector type for load", lower},
    Reason{"shape-cast", "SM6618", "infer-vector-layout: unsupported shape cast", layout},
    Reason{"gather-width", "SM6619", "Gather indices and result have different bitwidths", apply},
    Reason{"gather-registers", "SM6620", "Multiple source vregs along gather dimension", apply},
    Reason{"ref-reshape", "SM6621", "memref reshape: Supported only when tiled dimensions remain unchanged …", layout},
    Reason{"matmul-type", "SM6606", "Unsupported matmul … type on target; Bad lhs type; Mix int/int - NYI",
           canonicalize},
    Reason{"strided-minor", "SM6622", "The last dim size is not 128 in original base memref", layout},
    Reason{"strided-lanes", "SM6623", "Stride on last dim is not 1", layout},
    Reason{"strided-start", "SM6624", "Only static indices are supported for packed types", apply},
    Reason{"strided-store", "SM6625", "Strided store with non 32-bit data", layout},
    Reason{"scalar-extract", "SM6626", "Only 32-bit scalar vector.extracts supported", layout},
    Reason{"sublane-gather", "SM6627", "Sublane gather not supported by this TPU generation", apply},
    Reason{"subelement-mask", "SM6628", "8-bit subelement masking is only supported for TPU v5+", lower},
    Reason{"narrow-shift", "SM6629", "unsigned integer unpacking emulation from bitwidth … to 'i32'", canonicalize},
    Reason{"core-parallel", "SM6630",
           "Core-parallel dimension … has iteration bound: …, which is greater than the number of active cores",
           windows},
    Reason{"unsupported-type", "SM6631", "Unsupported type …; Conversion to 4-bit not supported before TPUv7", lower},
    Reason{"bool-carry", "SM6632", "failed to legalize operation 'scf.for'", lower},
    Reason{"bool-relayout", "SM6633", "changeBitwidth when src bitwidth and dst bitwidth differs too much", apply},
    Reason{"unsupported-op", "SM6634", "Target does not support …; LLO_CHECK failure …", lower},
    Reason{"matrix-queue", "SM6640", "Cannot schedule FIFO pop instruction when the FIFO is empty; … push … full",
           allocate},
    Reason{"vmem", "SM6605", "E1001: Ran out of memory in memory space vmem", allocate},
};

constexpr const Reason& find(std::string_view id) {
  for (const Reason& r : kReasons)
    if (r.id == id) return r;
  throw "no such reason";  // at compile time
}

}  // namespace

std::span<const Reason> reasons() { return kReasons; }

namespace reason {
const Reason& kBlockShape = find("block-shape");
const Reason& kElementIndex = find("element-index");
const Reason& kUnalignedIndex = find("unaligned-index");
const Reason& kDmaOffset = find("dma-offset");
const Reason& kDmaSize = find("dma-size");
const Reason& kDmaLinear = find("dma-linear");
const Reason& kElementType = find("element-type");
const Reason& kNarrowArithmetic = find("narrow-arithmetic");
const Reason& kScalarType = find("scalar-type");
const Reason& kF16 = find("f16");
const Reason& kShapeCast = find("shape-cast");
const Reason& kGatherWidth = find("gather-width");
const Reason& kGatherRegisters = find("gather-registers");
const Reason& kRefReshape = find("ref-reshape");
const Reason& kMatmulType = find("matmul-type");
const Reason& kStridedMinor = find("strided-minor");
const Reason& kStridedLanes = find("strided-lanes");
const Reason& kStridedStart = find("strided-start");
const Reason& kStridedStore = find("strided-store");
const Reason& kScalarExtract = find("scalar-extract");
const Reason& kSublaneGather = find("sublane-gather");
const Reason& kSubelementMask = find("subelement-mask");
const Reason& kNarrowShift = find("narrow-shift");
const Reason& kCoreParallel = find("core-parallel");
const Reason& kUnsupportedType = find("unsupported-type");
const Reason& kBoolCarry = find("bool-carry");
const Reason& kBoolRelayout = find("bool-relayout");
const Reason& kUnsupportedOp = find("unsupported-op");
const Reason& kMatrixQueue = find("matrix-queue");
const Reason& kVmem = find("vmem");

}  // namespace reason
}  // namespace smalti::tpu
