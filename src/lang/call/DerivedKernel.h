// Kernels derived from others by transformations: batched, with tangents.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lang/call/CalledKernel.h"

namespace smalti::lang {

/// The kernels made of one kernel, each once. Thread-safe.
class DerivedKernels {
 public:
  /// The kernel of that key; made and lowered at the first call. It runs with the settings that `origin` was called
  /// with, or the thread's.
  std::shared_ptr<const CalledKernel> get(const CalledKernel& origin, const std::string& key,
                                          const std::function<TracedKernel()>& make);

 private:
  class Derived;
  struct Made;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Made>> made_;
};

/// Types of a kernel's results as memory holds them.
std::vector<ArrayType> resultsOf(const TracedKernel&);

}  // namespace smalti::lang
