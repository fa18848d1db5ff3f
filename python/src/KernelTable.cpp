#include "KernelTable.h"

#include <algorithm>
#include <system_error>

#include "Options.h"
#include "smalti/error.h"
#include "smalti/module.h"

namespace smalti::python {
namespace {

OptionList optionsFrom(std::string_view lines) {
  OptionList options;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const size_t equals = std::min(line.find('='), line.size());
    options.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
  }
  return options;
}

Module moduleOf(const CallAttributes& call) { return unwrap(Module::parse(call.module, "pallas_call")); }

/// Its options over the SMALTI_… variables as they are now, for which there is a default of the target.
Settings settingsOf(const CallAttributes& call) {
  return settingsFrom({{"target", kDefaultTarget}}, optionsFrom(call.options));
}

/// What is wrong with a kernel, in a twentieth of the time: every target takes what the machine takes.
void verifyCall(const CallAttributes& call, Settings settings) {
  unwrap(settings.set("target", "interpret"));
  unwrap(moduleOf(call).compile(settings));
}

}  // namespace

bool wantsNativeCode(const CallAttributes& call) {
  const OptionList options = optionsFrom(call.options);
  return targetOf(options) == "cpu" &&
         std::ranges::find(options, "check", &OptionList::value_type::first) == options.end();
}

KernelTable& KernelTable::instance() {
  static auto* table = new KernelTable;  // JAX's threads may still run kernels while the process ends
  return *table;
}

size_t KernelTable::size() const {
  const std::shared_lock lock(mutex_);
  return entries_.size();
}

std::shared_ptr<KernelTable::Entry> KernelTable::entryOf(std::string_view key) {
  const std::unique_lock lock(mutex_);
  auto& place = entries_[std::string(key)];
  if (!place) place = std::make_shared<Entry>();
  return place;
}

Status KernelTable::begin(const CallAttributes& call) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(call.key); found != entries_.end() && found->second->begun) return {};
  }
  const auto settings = attempt([&] { return settingsOf(call); });
  if (!settings) return fail(settings.error());
  if (targetOf(optionsFrom(call.options)) != "cpu") {  // it takes kernels of its own, or none here: it says so at once
    const auto compiled = compiledIn(*entryOf(call.key), call, *settings);
    return compiled ? Status() : fail(compiled.error());
  }
  if (auto verified = attempt([&] { return verifyCall(call, *settings), 0; }); !verified)
    return fail(std::move(verified.error()));
  const std::shared_ptr<Entry> entry = entryOf(call.key);
  {
    const std::unique_lock lock(mutex_);
    if (std::exchange(entry->begun, true)) return {};
    entry->settings = *settings;
  }
  const std::lock_guard lock(queueMutex_);
  if (finished_) return {};
  queue_.push_back({std::string(call.key), std::string(call.module), std::string(call.options)});
  const size_t most = std::max(2U, std::thread::hardware_concurrency()) - 1;
  if (idle_ < queue_.size() && workers_.size() < most) try {
      workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the first call compiles
    }
  queued_.notify_one();
  return {};
}

void KernelTable::work() {
  std::unique_lock lock(queueMutex_);
  for (;;) {
    ++idle_;
    queued_.wait(lock, [&] { return finished_ || !queue_.empty(); });
    --idle_;
    if (finished_) return;
    const Waiting next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    static_cast<void>(get({next.key, next.module, next.options}));  // its call says what is wrong
    lock.lock();
  }
}

void KernelTable::finish() {
  if (getpid() != process_) return;
  std::vector<std::thread> workers;
  {
    const std::lock_guard lock(queueMutex_);
    finished_ = true;
    workers.swap(workers_);
  }
  queued_.notify_all();
  for (std::thread& worker : workers) worker.join();
}

Result<std::shared_ptr<const Executable>> KernelTable::get(const CallAttributes& call) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(call.key); found != entries_.end() && found->second->executable)
      return found->second->executable;
  }
  const std::shared_ptr<Entry> entry = entryOf(call.key);
  std::optional<Settings> settings;
  {
    const std::shared_lock lock(mutex_);
    settings = entry->settings;
  }
  if (!settings) {  // a program that was lowered in another process
    auto now = attempt([&] { return settingsOf(call); });
    if (!now) return fail(std::move(now.error()));
    settings = std::move(*now);
  }
  return compiledIn(*entry, call, *settings);
}

Result<std::shared_ptr<const Executable>> KernelTable::compiledIn(Entry& entry, const CallAttributes& call,
                                                                  const Settings& settings) {
  const std::lock_guard compiling(entry.compiling);
  {
    const std::shared_lock lock(mutex_);
    if (entry.executable) return entry.executable;
  }
  auto compiled = attempt([&] { return std::make_shared<const Executable>(unwrap(moduleOf(call).compile(settings))); });
  if (!compiled) return fail(std::move(compiled.error()));
  const std::unique_lock lock(mutex_);
  entry.executable = std::move(*compiled);
  return entry.executable;
}

}  // namespace smalti::python
