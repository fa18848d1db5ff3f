#include "KernelTable.h"

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

Executable compileCall(const CallAttributes& call) {
  const Settings settings = settingsFrom({{"target", "cpu"}}, optionsFrom(call.options));
  return unwrap(unwrap(Module::parse(call.module, "pallas_call")).compile(settings));
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

Result<std::shared_ptr<const Executable>> KernelTable::get(const CallAttributes& call) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(call.key); found != entries_.end() && found->second->executable)
      return found->second->executable;
  }
  std::shared_ptr<Entry> entry;
  {
    const std::unique_lock lock(mutex_);
    auto& place = entries_[std::string(call.key)];
    if (!place) place = std::make_shared<Entry>();
    entry = place;
  }
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
