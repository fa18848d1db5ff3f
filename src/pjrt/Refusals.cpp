#include "pjrt/Refusals.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace smalti::pjrt {
namespace {

constexpr std::string_view kTypesHelp = "compute in f32, bf16 or i32, and cast before and after";
constexpr std::string_view kMatmulHelp =
    "cast the operands to bf16 or f32, or choose another chip: smalti chips says what matrix units take";
constexpr std::string_view kVmemHelp =
    "use smaller blocks or scratch, or raise vmem_limit_bytes where the chip has more";

constexpr std::array kRows{
    RefusalRow{"but its block shape", "has tiling", "block-shape",
               "a block is neither a multiple of the tile nor the whole array in its last two axes",
               "choose multiples of 8 and 128, or the whole axis"},
    RefusalRow{"Couldn't prove that tiling", "transform_indices", "element-index",
               "an index map's Element index is not provably a multiple of the tile",
               "multiply the index by the tile, or use a blocked axis"},
    RefusalRow{"Stochastic convert not supported", "", "unsupported-op", "this chip cannot round stochastically",
               "round to nearest"},
    RefusalRow{"Low padding not supported", "", "unsupported-op",
               "an Element axis has padding before its first element",
               "shift the index map instead, and pad at the end only"},
    RefusalRow{"cannot statically prove that index in dimension", "", "unaligned-index",
               "the index of a load or store is not provably a multiple of the tile",
               "pl.multiple_of(index, 8) says that it is; else load an aligned slice and roll it"},
    RefusalRow{"Offsets along tiled dimensions must be aligned to tiles", "", "dma-offset",
               "a copy begins inside a tile", "begin it at a multiple of the tile's rows and of 128 lanes"},
    RefusalRow{"Slice sizes along tiled dimensions must be aligned to tiles", "", "dma-size",
               "a copy takes part of a tile", "copy whole tiles: a multiple of the tile's rows and of 128 lanes"},
    RefusalRow{"contiguous inner slice in the DMA transfer must be divisible by", "", "dma-linear",
               "a copy of an untiled ref is not of whole 512 bytes", "begin and end it at multiples of 512 bytes"},
    RefusalRow{"multiple of the word size", "dynamic offset", "dma-linear",
               "a copy of an untiled ref begins at an offset that is not provably of whole 512 bytes",
               "begin and end it at multiples of 512 bytes"},
    RefusalRow{"Only vector<i16> and vector<i32> are supported", "", "narrow-arithmetic",
               "integers of this width are not added, subtracted or multiplied on TPUs", "cast to i32 or i16 first"},
    RefusalRow{"Only i32 arith.", "is supported, but got", "scalar-type", "scalars of this type are not computed with",
               "cast the scalar to i32 or f32 first"},
    RefusalRow{"Only i1 and i32 scalars are supported", "", "scalar-type", "scalars of this type are not computed with",
               "cast the scalar to i32 or f32 first"},
    RefusalRow{"Invalid vector type for load", "", "f16", "TPUs have no vectors of f16", "use bf16 or f32"},
    RefusalRow{"unsupported shape cast", "", "shape-cast", "this reshape moves data in a way that TPUs cannot",
               "keep the last axis, or fold and unfold it by multiples of 128"},
    RefusalRow{"reshape is unsupported", "", "shape-cast", "this reshape moves data in a way that TPUs cannot",
               "keep the last axis, or fold and unfold it by multiples of 128"},
    RefusalRow{"Gather indices and result have different bitwidths", "", "gather-width",
               "a gather's indices and values differ in width", "gather 32-bit values by 32-bit indices"},
    RefusalRow{"Multiple source vregs along gather dimension", "", "gather-registers",
               "a gather reaches over several vector registers", "gather at most 128 lanes or 8 rows at a time"},
    RefusalRow{"Supported only when (a) tiled dimensions remain unchanged", "", "ref-reshape",
               "this reshape of a Ref would move data",
               "keep the last axis and split or merge at multiples of the tile"},
    RefusalRow{"Reshape on a non-contiguous memref", "", "ref-reshape",
               "this Ref's rows are padded to whole tiles, so that a reshape would move data",
               "reshape the value that is loaded, or make the rows whole tiles"},
    RefusalRow{"Unsupported matmul", "type on target", "matmul-type", "this chip has no matrix product of these types",
               kMatmulHelp},
    RefusalRow{"Bad lhs type", "", "matmul-type", "a matrix product of these types has no such precision", kMatmulHelp},
    RefusalRow{"Bad lhs/rhs type", "", "matmul-type", "TPUs have no matrix product of these types", kMatmulHelp},
    RefusalRow{"Mix int/int - NYI", "", "matmul-type", "TPUs have no matrix product of these types", kMatmulHelp},
    RefusalRow{"acc with", "Expected", "matmul-type", "TPUs have no matrix product with this type of result",
               kMatmulHelp},
    RefusalRow{"not supported as matmul", "", "matmul-type", "TPUs have no matrix product of these types", kMatmulHelp},
    RefusalRow{"Unsupported type for matmul", "", "matmul-type", "this chip has no matrix product of these types",
               kMatmulHelp},
    RefusalRow{"SupportsMatmulDataFormat", "", "matmul-type", "this chip has no matrix product of these types",
               kMatmulHelp},
    RefusalRow{"The last dim size is not 128 in original base memref", "", "strided-minor",
               "strided loads and stores need a Ref whose last axis is 128", "reshape the array so that it is"},
    RefusalRow{"Stride on last dim is not 1", "", "strided-lanes", "lanes cannot be strided",
               "transpose, or stride another axis"},
    RefusalRow{"Index on last dim is not 0", "", "strided-lanes", "lanes cannot be strided",
               "transpose, or stride another axis"},
    RefusalRow{"Only static indices are supported for packed types", "", "strided-start",
               "a strided load of a packed type begins at a dynamic index", "cast to 32 bits, or begin at a constant"},
    RefusalRow{"Strided store with non 32-bit data", "", "strided-store", "strided stores are of 32-bit types",
               "cast to 32 bits"},
    RefusalRow{"Only 32-bit scalar vector.extracts supported", "", "scalar-extract",
               "a scalar of less than 32 bits is taken out of a vector", "cast the vector to 32 bits first"},
    RefusalRow{"Sublane gather not supported", "", "sublane-gather", "this chip cannot gather rows",
               "keep reduced axes (keepdims), or choose another chip"},
    RefusalRow{"subelement masking is only supported for", "", "subelement-mask",
               "this chip cannot mask within 32-bit words", "use whole tiles, or cast to 32 bits"},
    RefusalRow{"subelement masking is currently implemented", "", "subelement-mask",
               "this chip cannot mask within 32-bit words", "use whole tiles, or cast to 32 bits"},
    RefusalRow{"unsigned integer unpacking emulation", "", "narrow-shift",
               "this chip does not shift integers of this width", "cast to 32 bits"},
    RefusalRow{"Core-parallel dimension", "", "core-parallel",
               "a core_parallel axis does not match the number of cores",
               "let the axis have as many steps as a device has cores"},
    RefusalRow{"subcore_parallel is only supported on SparseCore", "", "core-parallel",
               "a subcore_parallel axis is for SparseCores", "say parallel or arbitrary"},
    RefusalRow{"failed to legalize operation 'scf.for'", "", "bool-carry", "a loop carries vectors of bool",
               "carry them as i32"},
    RefusalRow{"changeBitwidth", "", "bool-relayout", "a vector of bool cannot change its layout here",
               "compute it again where it is used, or keep it as i32"},
    RefusalRow{"failed to legalize operation 'arith.", "", "element-type", "this op does not take this element type",
               kTypesHelp},
    RefusalRow{"failed to legalize operation 'math.", "", "element-type", "this op does not take this element type",
               kTypesHelp},
    RefusalRow{"Unsupported type '", "", "unsupported-type", "this chip does not have this element type", kTypesHelp},
    RefusalRow{"Unsupported data type", "", "unsupported-type", "this chip does not have this element type",
               kTypesHelp},
    RefusalRow{"not supported before TPUv", "", "unsupported-type", "this chip does not have this element type",
               kTypesHelp},
    RefusalRow{"Ran out of memory in memory space vmem", "", "vmem", "the kernel needs more VMEM than it may use",
               kVmemHelp},
    RefusalRow{"would exceed memory", "space=vmem", "vmem", "the kernel needs more VMEM than it may use", kVmemHelp},
    RefusalRow{"Ran out of memory in memory space smem", "", "smem", "the kernel needs more SMEM than there is",
               "keep large arrays in VMEM or HBM"},
    RefusalRow{"would exceed memory", "space=smem", "smem", "the kernel needs more SMEM than there is",
               "keep large arrays in VMEM or HBM"},
    RefusalRow{"CompileTimeHbmOom", "", "hbm", "the program needs more HBM than the chip has", "use smaller arrays"},
    RefusalRow{"Ran out of memory", "hbm", "hbm", "the program needs more HBM than the chip has", "use smaller arrays"},
    RefusalRow{"Cannot schedule FIFO", "when the FIFO is", "matrix-queue",
               "a product is taken out of a matrix unit's queue that is not in it, or one more put in than it holds",
               "pop as many rows as were pushed, before more are pushed"},
    RefusalRow{"Regular semaphores in EnqueueDMA are not supported", "", "unsupported-op",
               "a copy on this chip cannot signal a regular semaphore", "use a DMA semaphore"},
    RefusalRow{"Non-DMA semaphores in transfers that require unrolling", "", "unsupported-op",
               "a copy that signals a regular semaphore needs several transfers",
               "use a DMA semaphore, or copy fewer dimensions at a time"},
    RefusalRow{"not supported on TPU generations", "", "unsupported-op", "this chip does not have this op", kTypesHelp},
    RefusalRow{"Target platform does not support", "", "unsupported-op", "this chip does not have this op", kTypesHelp},
    RefusalRow{"Target does not support", "", "unsupported-op", "this chip does not have this op", kTypesHelp},
    RefusalRow{"LLO_CHECK failure", "", "unsupported-op", "this chip does not have this op", kTypesHelp},
    RefusalRow{"Failed to verify layout for Mosaic kernel operand", "", "operand-layout",
               "an operand's layout is not the one that the kernel was made for", "give no operand of size zero"},
    RefusalRow{"Custom emitter for", "not found", "not-a-kernel",
               "the compiler does not know a custom call of this name",
               "let the module hold Pallas kernels (tpu_custom_call) only"},
    RefusalRow{"Failed to parse using StableHLO", "", "not-a-module", "the compiler cannot read the module",
               "export it anew: libtpu and the exporter may be of different ages"},
};

constexpr std::string_view kOther = "other";

/// The compiler's words without the frame that it puts around each of them.
std::string_view core(std::string_view message) {
  if (const size_t name = message.find("HLO name `"); name != std::string_view::npos)
    if (const size_t end = message.find("`: ", name); end != std::string_view::npos) message.remove_prefix(end + 3);
  message = message.substr(0, message.find("\n\nat location:"));
  message = message.substr(0, message.find("\nSee https://"));
  message = message.substr(0, message.find("\n\nPlease report a bug"));
  message = message.substr(0, message.find("\n\n  Largest program allocations"));
  return message.substr(0, message.find_last_not_of(" \n") + 1);
}

std::string shortened(std::string_view text) {
  constexpr size_t kLongestBytes = 700;
  std::string result(text.substr(0, kLongestBytes));
  if (result.size() < text.size()) result += "…";
  return result;
}

/// The text between two words; empty if one of them is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return "";
  text.remove_prefix(begin + before.size());
  const size_t end = text.find(after);
  return end == std::string_view::npos ? "" : text.substr(0, end);
}

/// `%6 = "arith.addi"(%4, %5) <{…}> : (types) -> types` without the compiler's own numbers and attributes.
std::string opText(std::string_view printed) {
  const std::string_view name = between(printed, "= \"", "\"");
  const size_t types = printed.rfind(" : (");
  if (name.empty() || types == std::string_view::npos)
    return shortened(printed.substr(std::min(printed.find_first_not_of(' '), printed.size())));
  return shortened(fmt::format("op '{}' : {}", name, printed.substr(types + 3)));
}

/// The kernel of a module's text that has one kernel; else empty.
std::string_view soleKernelName(std::string_view module) {
  constexpr std::string_view kBefore = "kernel_name = \"";
  const size_t at = module.find(kBefore);
  if (at == std::string_view::npos || module.find(kBefore, at + 1) != std::string_view::npos) return "";
  return between(module.substr(at), kBefore, "\"");
}

bool fits(const RefusalRow& row, std::string_view message) {
  return message.find(row.words) != std::string_view::npos && message.find(row.also) != std::string_view::npos;
}

}  // namespace

std::span<const RefusalRow> refusalRows() { return kRows; }

Refusal classify(const PluginError& error, std::string_view chip, std::string_view module) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const RefusalRow& r) { return fits(r, error.message); });
  const bool known = row != kRows.end();
  Refusal refusal;
  refusal.reason = known ? row->reason : kOther;
  refusal.memory = refusal.reason == "vmem" || refusal.reason == "smem" || refusal.reason == "hbm";
  Diagnostic& d = refusal.diagnostic;
  d.code = "SM6806";
  d.message =
      fmt::format("the compiler for {} refuses this: {}", chip, known ? row->sentence : "for a reason of its own");
  d.place = placeOfLocation(between(error.message, "\nat location: ", "\n"));
  // XLA gives calls names of its own.
  if (const auto kernel = soleKernelName(module); !kernel.empty())
    d.where.push_back(fmt::format("kernel '{}'", kernel));
  else if (const auto instruction = between(error.message, "HLO name `", "`"); !instruction.empty())
    d.where.push_back(fmt::format("instruction '{}' of the compiled program", instruction));
  if (const auto op = between(error.message, "The MLIR operation involved:\n", "\n"); !op.empty())
    d.where.push_back(opText(op));
  d.have = fmt::format("{}: {}", codeName(error.code), shortened(core(error.message)));
  if (known) d.help = row->help;
  return refusal;
}

}  // namespace smalti::pjrt
