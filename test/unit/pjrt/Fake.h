// The plugin of test/pjrt, whose devices are the abstract machine, and its faults.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "pjrt/Plugin.h"

namespace smalti::pjrt {

/// A fault of the fake plugin, as long as this lives.
class Fault {
 public:
  Fault(std::string name, const std::string& value) : name_("FAKE_PJRT_" + std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Fault() { ::unsetenv(name_.c_str()); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  std::string name_;
};

inline Plugin plugin() { return *Plugin::load(SMALTI_FAKE_PJRT); }

inline int64_t liveObjects() {
  static void* library = ::dlopen(SMALTI_FAKE_PJRT, RTLD_NOW);
  return reinterpret_cast<int64_t (*)()>(::dlsym(library, "FakePjrtLiveObjects"))();
}

/// What is loaded from elsewhere is another plugin, which has not been started yet.
class CopiedPlugin {
 public:
  CopiedPlugin() : path_(testing::TempDir() + "pjrt_" + std::to_string(::getpid()) + "_" + std::to_string(++count_)) {
    std::filesystem::copy_file(SMALTI_FAKE_PJRT, path_);
  }
  ~CopiedPlugin() { std::filesystem::remove(path_); }
  Result<Plugin> load() const { return Plugin::load(path_); }
  std::string str() const {
    const auto loaded = load();
    if (loaded) return "loaded " + loaded->apiVersion();
    std::string text = loaded.error().str();
    for (size_t at; (at = text.find(path_)) != std::string::npos;) text.replace(at, path_.size(), "PLUGIN");
    return text;
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

}  // namespace smalti::pjrt
