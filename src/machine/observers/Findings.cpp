#include "machine/observers/Findings.h"

namespace smalti::machine {

void Findings::add(Diagnostic d) {
  auto [it, isNew] = known_.try_emplace(d.code + '\n' + d.place.str() + '\n' + d.message, findings_.size());
  if (isNew)
    findings_.push_back({std::move(d)});
  else
    ++findings_[it->second].count;
}

}  // namespace smalti::machine
