#include "base/Settings.h"

#include <atomic>
#include <cstdlib>

#include "base/process/Lifetime.h"
#include "base/process/ThreadLasting.h"

namespace smalti {
namespace {

/// The last serial; that of the environment is 1, on every thread.
std::atomic<uint64_t> gLastSerial{1};

ActiveSettings& ofThisThread() {
  thread_local constinit ThreadLasting<ActiveSettings> settings;
  return settings.get([] {
    Settings fromEnvironment;
    if (Status ok = fromEnvironment.read_environment(); !ok) return ActiveSettings{1, fail(std::move(ok.error()))};
    return ActiveSettings{1, fromEnvironment.state().options.values};
  });
}

}  // namespace

Settings::Settings() : state_(std::make_unique<State>()) {}
Settings::~Settings() = default;
Settings::Settings(const Settings& other) : state_(std::make_unique<State>(*other.state_)) {}
Settings& Settings::operator=(const Settings& other) {
  *state_ = *other.state_;
  return *this;
}

Status Settings::set(std::string_view option, std::string_view value) {
  if (Status ok = checkNotEnding(); !ok) return ok;
  const OptionRow* row = findOption(option);
  if (!row)
    return fail({.code = "SM1011",
                 .message = "there is no option '" + std::string(option) + "'",
                 .place = {},
                 .help = "smalti env lists them"});
  return state_->options.set(*row, value, Origin::commandLine, std::string(option));
}

Status Settings::read_environment() {
  if (Status ok = checkNotEnding(); !ok) return ok;
  return state_->options.readEnvironment([](const char* name) { return std::getenv(name); });
}

ActiveSettings activate(const Settings& settings) { return {++gLastSerial, settings.state().options.values}; }
const ActiveSettings& activeSettings() { return ofThisThread(); }
void use_settings(const Settings& settings) {
  if (!isEnding()) ofThisThread() = activate(settings);
}

}  // namespace smalti
