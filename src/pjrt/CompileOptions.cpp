#include "pjrt/CompileOptions.h"

#include <algorithm>
#include <charconv>

#include "pjrt/Wire.h"

namespace smalti::pjrt {
namespace {

using wire::field;

// Fields of xla.CompileOptionsProto, xla.ExecutableBuildOptionsProto and xla.DeviceAssignmentProto.
constexpr int kBuildOptions = 3;
constexpr int kNumReplicas = 4, kNumPartitions = 5, kUseSpmdPartitioning = 6, kDeviceAssignment = 9, kUseShardy = 19;
constexpr int kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3;
constexpr int kReplicaDeviceIds = 1;

constexpr int64_t kMaxDevices = 1 << 16;

int64_t attribute(std::string_view module, std::string_view name) {
  // The attributes stand in the first lines; a kernel's bytes are no place to look for them.
  constexpr size_t kHeaderBytes = 4096;
  const std::string_view header = module.substr(0, kHeaderBytes);
  size_t at = header.find(name);
  if (at == std::string_view::npos) return 1;
  at = header.find_first_not_of(" =", at + name.size());
  if (at == std::string_view::npos) return 1;
  int64_t value = 1;
  std::from_chars(header.data() + at, header.data() + header.size(), value);
  return std::clamp<int64_t>(value, 1, kMaxDevices);
}

}  // namespace

std::string CompileOptions::proto() const {
  std::string build =
      field(kNumReplicas, static_cast<uint64_t>(replicas)) + field(kNumPartitions, static_cast<uint64_t>(partitions));
  if (partitions > 1) build += field(kUseSpmdPartitioning, 1);
  if (!devices.empty()) {
    std::string assignment = field(kReplicaCount, static_cast<uint64_t>(replicas)) +
                             field(kComputationCount, static_cast<uint64_t>(partitions));
    for (int64_t partition = 0; partition < partitions; ++partition) {
      std::string ids;
      for (int64_t replica = 0; replica < replicas; ++replica)
        ids += wire::packed(static_cast<uint64_t>(devices[static_cast<size_t>(replica * partitions + partition)]));
      assignment += field(kComputationDevices, field(kReplicaDeviceIds, ids));
    }
    build += field(kDeviceAssignment, assignment);
  }
  if (shardy) build += field(kUseShardy, 1);
  return field(kBuildOptions, build);
}

CompileOptions optionsOf(std::string_view module) {
  return {.replicas = attribute(module, "mhlo.num_replicas"),
          .partitions = attribute(module, "mhlo.num_partitions"),
          .shardy = module.find("sdy.") != std::string_view::npos};
}

}  // namespace smalti::pjrt
