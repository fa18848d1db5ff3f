#include "pjrt/Event.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace smalti::pjrt {

using namespace abi;

namespace {

/// False when `stop` has become true before the event has happened.
bool happensBefore(const Plugin& plugin, void* event, const std::atomic<bool>& stop) {
  using namespace std::chrono_literals;
  constexpr auto kLongestPause = std::chrono::microseconds(1ms);
  BoolArgs ready;
  ready.object = event;
  for (auto pause = std::chrono::microseconds(10us);; pause = std::min(2 * pause, kLongestPause)) {
    // One that cannot say is waited for.
    if (!plugin.call(kEventIsReady, ready) || ready.value) return true;
    if (stop.load(std::memory_order_relaxed)) return false;
    std::this_thread::sleep_for(pause);
  }
}

struct InUse {
  Plugin plugin;
  std::shared_ptr<void> memory;
};

/// Has the plugin give up `memory` when the event happens.
void keepUntil(const Plugin& plugin, void* event, std::shared_ptr<void> memory) {
  auto* kept = new InUse{plugin, std::move(memory)};
  OnReadyArgs args;
  args.event = event;
  args.argument = kept;
  args.callback = [](void* error, void* argument) {
    const std::unique_ptr<InUse> kept(static_cast<InUse*>(argument));
    if (error) kept->plugin.destroy(kErrorDestroy, error);
  };
  // If the plugin refuses, it may still write to the memory at any time, which is then never released.
  (void)plugin.call(kEventOnReady, args);
}

Diagnostic stopped(std::string_view what) {
  return {.code = "SM9006",
          .message = "the run was stopped before its end",
          .place = {},
          .need = "devices that finish within the caller's time limit",
          .have = "waited for the plugin to " + std::string(what),
          .help = "give it more time, or smaller inputs"};
}

}  // namespace

Status await(const Plugin& plugin, void* event, std::string_view what, const std::atomic<bool>* stop,
             std::shared_ptr<void> used) {
  if (!event) return {};
  const Handle owned(plugin, event, kEventDestroy);
  if (stop && !happensBefore(plugin, event, *stop)) {
    if (used) keepUntil(plugin, event, std::move(used));
    return fail(stopped(what));
  }
  ObjectArgs args;
  args.object = event;
  if (auto done = plugin.call(kEventAwait, args); !done) return fail(refusedBy(plugin, done.error(), what));
  return {};
}

}  // namespace smalti::pjrt
