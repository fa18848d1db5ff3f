// Kernels that programs of JAX call, each compiled once in a process.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "smalti/executable.h"

namespace smalti::python {

/// What a call in a compiled program of JAX names: `key` is a digest of the other two.
struct CallAttributes {
  std::string_view key;
  std::string_view module;   ///< StableHLO text whose main is the one call of the kernel
  std::string_view options;  ///< a line "name=value" for each
};

class KernelTable {
 public:
  static KernelTable& instance();

  /// Compiles the kernel unless it is here already; others that want the same wait for it. Errors are not kept.
  Result<std::shared_ptr<const Executable>> get(const CallAttributes&);
  /// How many there are.
  size_t size() const;

 private:
  struct Entry {
    std::mutex compiling;
    std::shared_ptr<const Executable> executable;  ///< under the table's mutex
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>, Hash, std::equal_to<>> entries_;
};

}  // namespace smalti::python
