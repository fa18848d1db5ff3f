#include "interop/stablehlo/HloSharding.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "interop/Limits.h"

namespace smalti::interop::stablehlo {
namespace {

bool takeText(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// "2,1,2]": numbers of at most all devices, up to and with the closer.
std::optional<std::vector<int64_t>> takeNumbers(std::string_view& text, char closer) {
  std::vector<int64_t> numbers;
  while (true) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > limits::kMaxDevices || numbers.size() > 2 * limits::kMaxRank)
      return std::nullopt;
    numbers.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() || (text[0] != ',' && text[0] != closer)) return std::nullopt;
    const bool last = text[0] == closer;
    text.remove_prefix(1);
    if (last) return numbers;
  }
}

/// 0: more than there may be.
int64_t numDevices(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes)
    if (s < 1 || (n *= s) > limits::kMaxDevices) return 0;
  return n;
}

/// The device number's digits in base `sizes`, the first the most significant, in the order of the permutation.
std::optional<std::vector<DeviceFactor>> digits(const std::vector<int64_t>& sizes, std::vector<int64_t> order) {
  std::vector<DeviceFactor> inOrder;
  if (order.empty()) {
    order.resize(sizes.size());
    std::iota(order.begin(), order.end(), int64_t{0});
  }
  const std::set<int64_t> distinct(order.begin(), order.end());
  if (order.size() != sizes.size() || distinct.size() != sizes.size()) return std::nullopt;
  if (*distinct.rbegin() >= static_cast<int64_t>(sizes.size())) return std::nullopt;
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  for (const int64_t i : order) inOrder.push_back({strides[static_cast<size_t>(i)], sizes[static_cast<size_t>(i)]});
  return inOrder;
}

}  // namespace

std::optional<HloSharding> readHloSharding(std::string_view text) {
  if (text == "{replicated}") return HloSharding{};
  if (!takeText(text, "{devices=[")) return std::nullopt;
  const auto tile = takeNumbers(text, ']');
  if (!tile || !takeText(text, "<=[")) return std::nullopt;
  const auto sizes = takeNumbers(text, ']');
  std::vector<int64_t> order;
  if (takeText(text, "T(")) {
    auto given = takeNumbers(text, ')');
    if (!given) return std::nullopt;
    order = std::move(*given);
  }
  const bool isReplicated = takeText(text, " last_tile_dim_replicate");
  if (!sizes || text != "}" || numDevices(*sizes) == 0 || numDevices(*tile) != numDevices(*sizes)) return std::nullopt;
  auto left = digits(*sizes, std::move(order));
  if (!left) return std::nullopt;

  HloSharding sharding{.dims = {}, .devices = numDevices(*sizes)};
  size_t next = 0;
  for (int64_t parts : *tile) {
    auto& factors = sharding.dims.emplace_back();
    while (parts > 1) {
      while (next < left->size() && (*left)[next].size == 1) ++next;
      if (next == left->size()) return std::nullopt;
      DeviceFactor& digit = (*left)[next];
      const int64_t size = std::gcd(parts, digit.size);
      if (size != parts && size != digit.size) return std::nullopt;
      digit.size /= size;
      factors.push_back({digit.stride * digit.size, size});
      parts /= size;
    }
  }
  if (isReplicated) sharding.dims.pop_back();
  return sharding;
}

std::optional<DeviceMesh> commonMesh(const std::vector<HloSharding>& shardings, int64_t devices) {
  std::set<int64_t> cuts{1, devices};
  for (const HloSharding& s : shardings) {
    if (s.devices != 0 && s.devices != devices) return std::nullopt;
    for (const auto& factors : s.dims)
      for (const DeviceFactor& f : factors) cuts.insert({f.stride, f.stride * f.size});
  }
  DeviceMesh mesh{.name = "mesh", .axes = {}};
  for (auto outer = cuts.rbegin(), inner = std::next(outer); inner != cuts.rend(); ++outer, ++inner) {
    if (*outer % *inner != 0) return std::nullopt;
    mesh.axes.push_back({fmt::format("d{}", mesh.axes.size()), *outer / *inner});
  }
  return mesh;
}

Sharding overMesh(const HloSharding& sharding, const DeviceMesh& mesh, size_t rank) {
  Sharding over{.mesh = mesh.name, .dims = {}};
  over.dims.resize(sharding.dims.empty() ? rank : sharding.dims.size());
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    for (const DeviceFactor& f : sharding.dims[d]) {
      int64_t stride = mesh.numDevices();
      for (const DeviceMesh::Axis& axis : mesh.axes) {
        stride /= axis.size;
        if (stride >= f.stride && stride < f.stride * f.size) over.dims[d].push_back(axis.name);
      }
    }
  return over;
}

}  // namespace smalti::interop::stablehlo
