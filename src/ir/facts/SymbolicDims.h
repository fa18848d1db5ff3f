// Symbolic dimensions of kernels (jax.export, with pallas_export_experimental): a number near 2^31 stands for each in
// the module's types and grid. Two attributes of the module per number say what it depends on and hold the program that
// computes it; as long as they are there, the kernel cannot run.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smalti {

inline constexpr std::string_view kDimPrefix = "tpu.dynamic_dimension_mapping_";
inline constexpr std::string_view kDimModule = "tpu.dynamic_dimension_mapping_module_";
inline constexpr std::string_view kDimIndices = "tpu.dynamic_dimension_mapping_indices_";

/// JAX has 128 such numbers.
inline constexpr int64_t kMaxSymbolicDims = 128;
constexpr bool isSymbolicDim(int64_t d) { return d > INT32_MAX - kMaxSymbolicDims && d <= INT32_MAX; }

/// The number behind `prefix` in the name of an attribute.
inline std::optional<int64_t> symbolicDimOf(std::string_view attribute, std::string_view prefix) {
  if (!attribute.starts_with(prefix)) return std::nullopt;
  attribute.remove_prefix(prefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(attribute.data(), attribute.data() + attribute.size(), number);
  if (error != std::errc() || end != attribute.data() + attribute.size() || !isSymbolicDim(number)) return std::nullopt;
  return number;
}

}  // namespace smalti
