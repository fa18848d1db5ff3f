// What a kernel says about its pipeline on GPUs.
#pragma once

#include <cstdint>
#include <optional>

namespace smalti {

/// How operands of products are copied to shared memory ahead of the steps that multiply them.
enum class GpuCopies : uint8_t {
  boxes,    ///< a thread of its own copies boxes of the arrays (TMA); mbarriers signal when they have arrived: sm_90 on
  threads,  ///< all threads copy (cp.async), with barriers between them
};

/// How code for GPUs divides a kernel among threads and copies its operands. Smalti chooses what is absent; the rest is
/// done as it says, or the kernel is refused (SM7209). Other targets ignore it. Triton has the first two under the same
/// names.
struct GpuParams {
  std::optional<int64_t> num_warps{};   ///< warps of a block that compute: 1, 2, 4, 8 or 16; a warp group has four
  std::optional<int64_t> num_stages{};  ///< stages of shared memory for operands of products: 2 to 8
  std::optional<GpuCopies> copies{};
  std::optional<bool> turns{};  ///< warp groups issue products in turns, so that one computes while another multiplies

  bool operator==(const GpuParams&) const = default;
};

}  // namespace smalti
