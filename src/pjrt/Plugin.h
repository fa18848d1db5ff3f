// A loaded PJRT plugin: a shared library that holds a compiler and a runtime behind the PJRT C API.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "pjrt/Abi.h"
#include "smalti/diagnostic.h"

namespace smalti::pjrt {

/// A plugin's error.
struct PluginError {
  int code = 0;  ///< absl's: 3 invalid argument, 5 not found, 8 resource exhausted, 12 unimplemented, 13 internal
  std::string message;
};
/// "INVALID_ARGUMENT", or "code 77".
std::string codeName(int code);

using CallStatus = tl::expected<void, PluginError>;

/// Stays loaded until the process ends, since plugins start threads; copies are the same plugin. A plugin is code that
/// runs in this process, which its crash ends: code that only judges loads it in a child process.
class Plugin {
 public:
  /// Loads and initializes a library, once per process and path. SM6802: the file is not a plugin, or not one that this
  /// client can speak to; SM6803: it refuses to start.
  static Result<Plugin> load(const std::string& path);

  const std::string& path() const;
  /// The version of the API: "0.117".
  std::string apiVersion() const;

  bool has(abi::Entry) const;
  /// Calls an entry; one that the plugin lacks answers "unimplemented".
  template <class Args>
  CallStatus call(abi::Entry entry, Args& args) const {
    return callEntry(entry, &args);
  }
  /// A text that belongs to `object`, such as a name; empty when the plugin has none.
  std::string text(abi::Entry, void* object) const;
  /// Calls a destructor. Its errors are ignored.
  void destroy(abi::Entry, void* object) const;

 private:
  struct Table;
  explicit Plugin(const Table* table) : table_(table) {}
  CallStatus callEntry(abi::Entry, void* args) const;
  const Table* table_;  ///< lives as long as the process
};

/// It expects larger structs than this client has.
bool isIncompatibleVersion(const PluginError&);
/// SM6803 with the plugin's own words; `what` completes "the plugin did not …".
Diagnostic refusedBy(const Plugin&, const PluginError&, std::string_view what);
/// SM6802: the plugin reported success and gave nothing.
Diagnostic hasNoResult(const Plugin&, std::string_view what);

/// An object of a plugin, destroyed with this.
class Handle {
 public:
  Handle(Plugin plugin, void* object, abi::Entry destroy) : plugin_(plugin), object_(object), destroy_(destroy) {}
  Handle(Handle&& other) noexcept
      : plugin_(other.plugin_), object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Handle() {
    if (object_) plugin_.destroy(destroy_, object_);
  }
  void* get() const { return object_; }
  const Plugin& plugin() const { return plugin_; }

 private:
  Plugin plugin_;
  void* object_;
  abi::Entry destroy_;
};

}  // namespace smalti::pjrt
