// Kernels that programs of JAX call, each compiled once in a process.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "smalti/executable.h"
#include "smalti/settings.h"

namespace smalti::python {

/// What a call in a compiled program of JAX names: `key` is a digest of the other two and of the SMALTI_… variables.
struct CallAttributes {
  std::string_view key;
  std::string_view module;   ///< StableHLO text whose main is the one call of the kernel
  std::string_view options;  ///< a line "name=value" for each
};

/// Whether the call asks for native code, and not for checks, which the machine may have to do.
bool wantsNativeCode(const CallAttributes&);

class KernelTable {
 public:
  static KernelTable& instance();

  /// Compiles the kernel unless it is here already; others that want the same wait for it. Errors are not kept.
  Result<std::shared_ptr<const Executable>> get(const CallAttributes&);
  /// Says what is wrong with the kernel, and compiles it on another thread, while JAX goes on with the program around
  /// it; `get` waits for that, or does it where no thread has begun yet. Takes the SMALTI_… variables as they are now.
  Status begin(const CallAttributes&);
  /// Ends what `begin` has started; nothing starts any more. Before the process ends.
  void finish();
  /// How many there are.
  size_t size() const;

 private:
  struct Entry {
    std::mutex compiling;
    std::shared_ptr<const Executable> executable;  ///< under the table's mutex
    bool begun = false;                            ///< under the table's mutex
    std::optional<Settings> settings;              ///< when it was begun; under the table's mutex
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  struct Waiting {
    std::string key, module, options;
  };
  std::shared_ptr<Entry> entryOf(std::string_view key);
  Result<std::shared_ptr<const Executable>> compiledIn(Entry&, const CallAttributes&, const Settings&);
  void work();

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>, Hash, std::equal_to<>> entries_;

  std::mutex queueMutex_;
  std::condition_variable queued_;
  std::deque<Waiting> queue_;
  std::vector<std::thread> workers_;  ///< kept: what LLVM sets up for a thread takes longer than a small kernel
  size_t idle_ = 0;
  bool finished_ = false;
  pid_t process_ = getpid();  ///< whose threads they are: a forked child has none
};

}  // namespace smalti::python
