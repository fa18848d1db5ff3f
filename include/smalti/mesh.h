// Meshes of devices, and how arrays are divided among them (jax.sharding.Mesh, PartitionSpec).
//
//   const pl::Mesh mesh({{"x", 2}, {"y", 4}});
//   pl::P("x", std::nullopt)               // dimension 0 over x, dimension 1 whole
//   pl::P(std::tuple{"x", "y"})            // dimension 0 over both, x outermost
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace smalti {

/// An axis of a mesh: devices along it are numbered from 0.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

/// A box of devices with named axes; a device's number is its row-major position. Error SM6230: an axis without a name
/// or devices, two of one name, or more than `most_devices` in all.
class Mesh {
 public:
  static constexpr int64_t most_devices = 4096;
  Mesh(std::initializer_list<MeshAxis> axes, std::source_location at = std::source_location::current())
      : Mesh(std::vector<MeshAxis>(axes), at) {}
  explicit Mesh(std::vector<MeshAxis> axes, std::source_location at = std::source_location::current());

  const std::vector<MeshAxis>& axes() const { return axes_; }
  /// Number of devices.
  int64_t size() const;
  /// For `.mesh` of a call.
  operator const std::vector<MeshAxis>&() const { return axes_; }

 private:
  std::vector<MeshAxis> axes_;
};

/// One axis of a mesh by name, or several, of which the first is outermost: "x", {"x", "y"}.
class AxisNames {
 public:
  AxisNames(const char* name) : names_{name} {}
  AxisNames(std::string_view name) : names_{std::string(name)} {}
  AxisNames(std::string name) : names_{std::move(name)} {}
  AxisNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}
  template <class... Name>
  AxisNames(const std::tuple<Name...>& names)
      : names_(std::apply([](const auto&... n) { return std::vector<std::string>{std::string(n)...}; }, names)) {}

  const std::vector<std::string>& names() const { return names_; }
  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }
  size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

/// How the dimensions of an array are divided among a mesh: an entry per dimension, which names the axes, or is
/// std::nullopt. Dimensions after the last entry are whole. The array is replicated along axes that no entry names.
class PartitionSpec {
 public:
  class Entry : public AxisNames {
   public:
    Entry(std::nullopt_t) : AxisNames(std::vector<std::string>{}) {}
    template <class T, class = std::enable_if_t<std::is_constructible_v<AxisNames, const T&>>>
    Entry(const T& names) : AxisNames(names) {}
  };

  template <class... E, class = std::enable_if_t<(std::is_constructible_v<Entry, const E&> && ...)>>
  explicit PartitionSpec(const E&... entries) : entries_{Entry(entries)...} {}

  const std::vector<Entry>& entries() const { return entries_; }
  /// P('x', None), as JAX prints it.
  std::string str() const;

 private:
  std::vector<Entry> entries_;
};
using P = PartitionSpec;

/// One spec, or a list of them.
class PartitionSpecs {
 public:
  PartitionSpecs(PartitionSpec one) : specs_{std::move(one)} {}
  PartitionSpecs(std::initializer_list<PartitionSpec> specs) : specs_(specs) {}
  PartitionSpecs(std::vector<PartitionSpec> specs) : specs_(std::move(specs)) {}
  const std::vector<PartitionSpec>& list() const { return specs_; }

 private:
  std::vector<PartitionSpec> specs_;
};

}  // namespace smalti
