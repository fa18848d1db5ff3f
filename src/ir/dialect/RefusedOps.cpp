// Ops of the dialect that no TensorCore kernel from Pallas contains. They are listed so that a refusal gives the
// reason.
#include <algorithm>
#include <array>

#include "ir/Tpu.h"

namespace smalti::tpu {
namespace {

struct RefusedOp {
  std::string_view name, kind;
};

constexpr std::string_view kSparseCore = "a SparseCore op; kernels for a TensorCore cannot contain it";
constexpr std::string_view kCompiler =
    "an op of the TPU compiler's own passes; it occurs only after vector layouts were chosen";
constexpr std::string_view kNeverEmitted = "an op of the dialect that Pallas does not emit";

constexpr std::array kRefused = {
    RefusedOp{"all_reduce", kSparseCore},
    RefusedOp{"barrier", kSparseCore},
    RefusedOp{"enqueue_indirect_dma", kSparseCore},
    RefusedOp{"fetch_and_add_sync", kSparseCore},
    RefusedOp{"pack_subelements", kSparseCore},
    RefusedOp{"scan", kSparseCore},
    RefusedOp{"scan_count", kSparseCore},
    RefusedOp{"sort", kSparseCore},
    RefusedOp{"unpack_subelements", kSparseCore},
    RefusedOp{"vector_load", kSparseCore},
    RefusedOp{"vector_load_idx", kSparseCore},
    RefusedOp{"vector_store_idx", kSparseCore},
    RefusedOp{"wait_indirect_dma", kSparseCore},
    RefusedOp{"assume_layout", kCompiler},
    RefusedOp{"bitcast_vreg", kCompiler},
    RefusedOp{"broadcast_in_sublanes", kCompiler},
    RefusedOp{"create_mask", kCompiler},
    RefusedOp{"create_subelement_mask", kCompiler},
    RefusedOp{"erase_memref_layout", kCompiler},
    RefusedOp{"extf", kCompiler},
    RefusedOp{"fptosi", kCompiler},
    RefusedOp{"fptoui", kCompiler},
    RefusedOp{"gather", kCompiler},
    RefusedOp{"internal_scratch", kCompiler},
    RefusedOp{"load", kCompiler},
    RefusedOp{"logistic", "an op that is read only in stable_mosaic form, as 1 / (1 + exp(-x))"},
    RefusedOp{"mask_cast", kCompiler},
    RefusedOp{"pack_vmsk", kCompiler},
    RefusedOp{"reinterpret_cast", kCompiler},
    RefusedOp{"repeat", "a deprecated op, today a concatenate of copies; it is read only in stable_mosaic form"},
    RefusedOp{"reshape", kCompiler},
    RefusedOp{"roll_vectors", kCompiler},
    RefusedOp{"shuffled_load", kCompiler},
    RefusedOp{"shuffled_store", kCompiler},
    RefusedOp{"sitofp", kCompiler},
    RefusedOp{"stochastic_convert_elementwise", kCompiler},
    RefusedOp{"store", kCompiler},
    RefusedOp{"sublane_shuffle", kCompiler},
    RefusedOp{"subcore_id", kSparseCore},
    RefusedOp{"core_id", kNeverEmitted},
    RefusedOp{"trace", "a deprecated op, today trace_start and trace_stop"},
    RefusedOp{"truncf", kCompiler},
    RefusedOp{"uitofp", kCompiler},
    RefusedOp{"unroll_vectors", kCompiler},
};

}  // namespace

std::optional<std::string_view> refusedOpKind(std::string_view mnemonic) {
  const auto* found = std::ranges::find(kRefused, mnemonic, &RefusedOp::name);
  if (found == kRefused.end()) return std::nullopt;
  return found->kind;
}

}  // namespace smalti::tpu
