// Object code kept between processes: a folder with one file per kernel, named by the hash of everything the code
// depends on.
//
// How a compiler uses it (`cache` may be null: nothing is cached):
//
//   const std::string key = cacheKey({packageText(kernel), processorText(processor), optionText});
//   if (cache)
//     if (auto kept = cache->find(key)) …load kept->object, read kept->report; on any error compile as usual…
//   …compile…
//   if (cache) cache->put(key, object, report);
//
// `object` and `report` are any bytes (reportText makes a report of a NativeReport); `cacheKey` adds the builds of this
// library and of LLVM by itself (BuildId.h). The cache never reports errors: an entry that cannot be read or written,
// or is incomplete, counts as missing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cpu/Processor.h"
#include "smalti/diagnostic.h"

namespace smalti::cpu {

/// The name of an entry: a hash of the parts (each with its length), and of which builds of smalti and LLVM these are.
std::string cacheKey(std::initializer_list<std::string_view> parts);
/// All properties of a processor that code depends on, including its caches.
std::string processorText(const Processor&);

struct CachedKernel {
  std::string object;
  std::string report;
};

/// Thread-safe, and safe with other processes in the same folder. Code that was linked without a build ID is never
/// stored nor found: it could belong to another build.
class CompileCache {
 public:
  CompileCache(std::string folder, int64_t limitBytes);

  std::optional<CachedKernel> find(const std::string& key);
  /// Removes the least recently used entries while the folder exceeds its limit.
  void put(const std::string& key, std::string_view object, std::string_view report);
  /// Whether `put` can write: makes the folder and writes a file. SM7002.
  Status usable() const;
  /// The first error of `put` (SM7002); after it, `put` does nothing.
  Status firstError() const;

  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  /// Removes every entry, and no other file; returns what was removed.
  Usage clear();

  const std::string& folder() const { return folder_; }
  int64_t limitBytes() const { return limitBytes_; }

 private:
  std::string path(const std::string& key) const;
  /// Bytes: a share of the limit.
  int64_t largestEntry() const { return limitBytes_ / 8; }
  void shrink();

  const std::string folder_;
  const int64_t limitBytes_;
  mutable std::mutex mutex_;
  Status firstError_;
  /// An estimate of the bytes added since the folder was last scanned, so that not every put lists it. nullopt before
  /// the first put.
  std::optional<int64_t> bytesSinceShrink_;
};

/// The folder that a setting means: "off": none; "auto": $XDG_CACHE_HOME/smalti, else ~/.cache/smalti, else none; other
/// than these, the setting itself.
std::optional<std::string> cacheFolder(const std::string& setting);
/// One per folder and limit in this process; null if the setting means none.
std::shared_ptr<CompileCache> openCache(const std::string& setting, int64_t limitBytes);

}  // namespace smalti::cpu
