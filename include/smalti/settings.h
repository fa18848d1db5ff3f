// Settings: the options of the command line for a C++ program.
#pragma once

#include <memory>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti {

/// Options have the names of the command line: "semantics" = "hlo", "seed" = "7" (`smalti env` lists them).
/// Some affect compilation (target, semantics, numerics, poison, cores, the checks, the cache), the others
/// execution (see ExecuteOptions). An object is for one thread at a time; calls keep copies.
class Settings {
 public:
  Settings();
  ~Settings();
  Settings(const Settings&);
  Settings& operator=(const Settings&);
  /// Error SM1011: there is no such option, or it does not take the value; the message lists those it takes.
  Status set(std::string_view option, std::string_view value);
  /// Reads the SMALTI_… variables. Error SM1011: a value that an option does not take.
  Status read_environment();

  struct State;
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Target and options of the pallas_calls that follow on this thread; until then the SMALTI_… variables. For one call:
/// `call.with(settings)(x)`.
void use_settings(const Settings& settings);

}  // namespace smalti
