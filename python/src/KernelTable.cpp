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

Executable compileCall(const CallAttributes& call) {
  return unwrap(moduleOf(call).compile(settingsFrom({{"target", "cpu"}}, optionsFrom(call.options))));
}

/// Other targets take kernels of their own, or none here: they say so at once.
bool isForCpu(const CallAttributes& call) {
  const OptionList options = optionsFrom(call.options);
  return std::ranges::none_of(options, [](const auto& o) { return o.first == "target" && o.second != "cpu"; });
}

/// What is wrong with a kernel, in a twentieth of the time: every target takes what the machine takes.
void verifyCall(const CallAttributes& call) {
  OptionList options = optionsFrom(call.options);
  options.emplace_back("target", "interpret");
  unwrap(moduleOf(call).compile(settingsFrom({}, options)));
}

}  // namespace

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
  if (!isForCpu(call)) {
    const auto compiled = get(call);
    return compiled ? Status() : fail(compiled.error());
  }
  if (auto verified = attempt([&] { return verifyCall(call), 0; }); !verified) return fail(std::move(verified.error()));
  const std::shared_ptr<Entry> entry = entryOf(call.key);
  {
    const std::unique_lock lock(mutex_);
    if (std::exchange(entry->begun, true)) return {};
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
  const std::lock_guard compiling(entry->compiling);
  {
    const std::shared_lock lock(mutex_);
    if (entry->executable) return entry->executable;
  }
  auto compiled = attempt([&] { return std::make_shared<const Executable>(compileCall(call)); });
  if (!compiled) return fail(std::move(compiled.error()));
  const std::unique_lock lock(mutex_);
  entry->executable = std::move(*compiled);
  return entry->executable;
}

}  // namespace smalti::python
