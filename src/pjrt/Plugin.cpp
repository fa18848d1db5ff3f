#include "pjrt/Plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

namespace smalti::pjrt {

using namespace abi;

struct Plugin::Table {
  const char* api;
  std::string path;
  std::optional<Diagnostic> failure{};  ///< it refused to start: any further call may abort the process

  const ApiHead& head() const { return *reinterpret_cast<const ApiHead*>(api); }
  EntryFunction entry(Entry e) const {
    const size_t offset = kFirstEntryBytes + sizeof(EntryFunction) * static_cast<size_t>(e);
    if (offset + sizeof(EntryFunction) > head().structSize) return nullptr;
    EntryFunction function = nullptr;
    std::memcpy(&function, api + offset, sizeof function);
    return function;
  }
};

namespace {

constexpr int kMajorVersion = 0;
/// The oldest whose layouts Abi.h was compared with.
constexpr int kOldestMinorVersion = 90;
constexpr size_t kLargestTableBytes = 1 << 16;
constexpr size_t kLongestMessageBytes = 1 << 20;

Diagnostic notAPlugin(const std::string& path, std::string have, std::string help) {
  return {.code = "SM6802",
          .message = fmt::format("'{}' is not a PJRT plugin that can be used", path),
          .place = {},
          .need = "a shared library for this processor with the function GetPjrtApi",
          .have = std::move(have),
          .help = std::move(help)};
}

std::string withoutPath(std::string text, const std::string& path) {
  const std::string prefix = path + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// The error in a plugin's table; empty: none.
std::string faultOf(const char* api) {
  if (!api) return "GetPjrtApi returned nothing";
  const auto& head = *reinterpret_cast<const ApiHead*>(api);
  const size_t needed = kFirstEntryBytes + sizeof(EntryFunction) * (kPluginInitialize + 1);
  if (head.structSize < needed || head.structSize > kLargestTableBytes || head.structSize % sizeof(EntryFunction) != 0)
    return fmt::format("a table of {} bytes; at least {} are needed", head.structSize, needed);
  if (head.major != kMajorVersion || head.minor < kOldestMinorVersion)
    return fmt::format("version {}.{} of the PJRT API; this client speaks {}.{} and later", head.major, head.minor,
                       kMajorVersion, kOldestMinorVersion);
  return "";
}

}  // namespace

std::string codeName(int code) {
  static constexpr std::array<std::string_view, 17> kNames{
      "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED",
  };
  if (code >= 0 && static_cast<size_t>(code) < kNames.size()) return std::string(kNames[static_cast<size_t>(code)]);
  return fmt::format("code {}", code);
}

Result<Plugin> Plugin::load(const std::string& path) {
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::string, std::unique_ptr<Table>>;
  const std::scoped_lock lock(mutex);
  if (const auto known = loaded.find(path); known != loaded.end()) {
    if (known->second->failure) return fail(*known->second->failure);
    return Plugin(known->second.get());
  }

  std::error_code error;
  // dlopen searches the system's folders for a name without a slash.
  const std::string file = std::filesystem::absolute(path, error).string();
  if (!std::filesystem::is_regular_file(file, error)) return fail(notAPlugin(path, "there is no such file", ""));
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* said = ::dlerror();
    return fail(notAPlugin(path, withoutPath(said ? said : "it cannot be loaded", file), ""));
  }
  using GetApi = const char* (*)();
  const auto getApi = reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"));
  if (!getApi)
    return fail(notAPlugin(path, "a library without that function", "give the plugin itself, e.g. libtpu.so"));
  const char* api = getApi();
  if (std::string fault = faultOf(api); !fault.empty())
    return fail(notAPlugin(path, std::move(fault), "install another version of the plugin"));

  auto table = std::make_unique<Table>(Table{api, path});
  const Plugin plugin(table.get());
  for (const Entry needed : {kErrorDestroy, kErrorMessage, kErrorGetCode, kPluginInitialize})
    if (!plugin.has(needed))
      return fail(notAPlugin(path, fmt::format("a table without its entry {}", static_cast<int>(needed)),
                             "install another version of the plugin"));
  NoArgs none;
  const auto started = plugin.call(kPluginInitialize, none);
  if (!started) {
    table->failure = refusedBy(plugin, started.error(), "start");
    if (started.error().message.find("lockfile") != std::string::npos)
      table->failure->help = "another process has the TPU: end it, or wait for it";
  }
  const Table* kept = (loaded[path] = std::move(table)).get();
  if (kept->failure) return fail(*kept->failure);
  return Plugin(kept);
}

const std::string& Plugin::path() const { return table_->path; }
std::string Plugin::apiVersion() const { return fmt::format("{}.{}", table_->head().major, table_->head().minor); }
bool Plugin::has(Entry e) const { return table_->entry(e) != nullptr; }

CallStatus Plugin::callEntry(Entry e, void* args) const {
  const EntryFunction function = table_->entry(e);
  if (!function) return tl::unexpected(PluginError{12, fmt::format("the plugin has no entry {}", static_cast<int>(e))});
  void* error = function(args);
  if (!error) return {};
  PluginError taken{2, ""};
  TextArgs message;
  message.object = error;
  table_->entry(kErrorMessage)(&message);
  if (message.text) taken.message.assign(message.text, std::min(message.size, kLongestMessageBytes));
  IntArgs code;
  code.object = error;
  if (void* second = table_->entry(kErrorGetCode)(&code)) destroy(kErrorDestroy, second);
  if (code.value != 0) taken.code = code.value;
  destroy(kErrorDestroy, error);
  return tl::unexpected(std::move(taken));
}

std::string Plugin::text(Entry e, void* object) const {
  TextArgs args;
  args.object = object;
  if (!call(e, args) || !args.text) return "";
  return {args.text, std::min(args.size, kLongestMessageBytes)};
}

void Plugin::destroy(Entry e, void* object) const {
  ObjectArgs args;
  args.object = object;
  const EntryFunction function = table_->entry(e);
  if (!function) return;
  void* error = function(&args);
  if (error && e != kErrorDestroy) destroy(kErrorDestroy, error);  // kErrorDestroy itself returns nothing
}

bool isIncompatibleVersion(const PluginError& error) {
  // The words of the C API's own check; programs may have other sizes that are not as expected.
  return error.code == 3 && error.message.starts_with("Unexpected PJRT") &&
         error.message.find("size: expected") != std::string::npos;
}

Diagnostic refusedBy(const Plugin& plugin, const PluginError& error, std::string_view what) {
  Diagnostic d{.code = "SM6803",
               .message = fmt::format("the plugin did not {}", what),
               .place = {},
               .where = {fmt::format("plugin '{}'", plugin.path())},
               .have = fmt::format("{}: {}", codeName(error.code), error.message)};
  if (isIncompatibleVersion(error))
    d.help = "the plugin's version of PJRT does not match this client: install another version of it";
  return d;
}

Diagnostic hasNoResult(const Plugin& plugin, std::string_view what) {
  return {.code = "SM6802",
          .message = fmt::format("'{}' is not a PJRT plugin that can be used", plugin.path()),
          .place = {},
          .have = fmt::format("it reported success and gave no {}", what),
          .help = "install another version of the plugin"};
}

}  // namespace smalti::pjrt
