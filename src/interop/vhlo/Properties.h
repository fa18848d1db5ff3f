// The attributes that the definition of an op of a portable artifact has, in the order in which they are stored.
#pragma once

#include <string_view>
#include <vector>

namespace smalti::interop::vhlo {

struct Property {
  std::string_view name;
  bool optional = false;  ///< stored with a flag
};

/// Of "vhlo" "dot_general_v2"; empty for ops without, and for ops that no Program holds.
std::vector<Property> propertiesOf(std::string_view dialect, std::string_view op);

}  // namespace smalti::interop::vhlo
