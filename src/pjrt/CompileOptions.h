// The options of a compilation, besides the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smalti::pjrt {

struct CompileOptions {
  int64_t replicas = 1;
  int64_t partitions = 1;  ///< devices that one program is split over
  bool shardy = false;     ///< shardings are those of the sdy dialect
  /// Id of the device that runs (replica, partition), replicas outermost; empty: the plugin's choice.
  std::span<const int64_t> devices{};

  /// A serialized CompileOptionsProto.
  std::string proto() const;
};

/// The options in a module: `mhlo.num_partitions = 4 : i32`, and whether it has sdy's ops or attributes. One device if
/// it contains none, or is not text.
CompileOptions optionsOf(std::string_view module);

}  // namespace smalti::pjrt
