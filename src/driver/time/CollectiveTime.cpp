#include "driver/time/CollectiveTime.h"

#include <algorithm>

namespace smalti::driver {
namespace {

double bytesOf(const Function& f, const std::vector<ValueId>& values) {
  double bytes = 0;
  for (const ValueId v : values) bytes += static_cast<double>(f.values[static_cast<size_t>(v)].bytes());
  return bytes;
}

/// Devices of a group: the last dimension of replica_groups, an array [groups, devices].
double groupOf(const Op& op, int64_t devices) {
  const Attribute* groups = op.find("replica_groups");
  const Array* array = groups ? std::get_if<Array>(groups) : nullptr;
  return static_cast<double>(array && array->rank() == 2 && array->dim(1) > 0 ? array->dim(1) : devices);
}

}  // namespace

double collectiveUs(const Function& f, const Op& op, int64_t devices, const tpu::Chip& chip) {
  const double n = groupOf(op, devices), others = n - 1;
  const double in = bytesOf(f, op.operands), out = bytesOf(f, op.results), hop = chip.ici.hopLatencyUs;
  const double link = chip.ici.linkGbPerSecond * 1e3;  // bytes a µs, one way
  // A ring has two ways, and the farthest device is half of it away.
  const auto ring = [&](double bytes) { return std::max(bytes * others / n / (2 * link), hop * std::max(1.0, n / 2)); };
  if (op.name == "collective_permute") return in / link + hop;
  if (others <= 0) return 0;
  if (op.name == "all_gather") return ring(out);
  if (op.name == "reduce_scatter") return ring(in);
  if (op.name == "all_reduce") return 2 * ring(in);
  if (op.name == "all_to_all") return std::max(in * others / (8 * link), hop * std::max(1.0, n / 2));
  if (op.name == "collective_broadcast") return in / link + hop * std::max(1.0, n / 2);
  return 0;
}

}  // namespace smalti::driver
