#include "ir/package/Violations.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::package {

namespace {
constexpr size_t kMaxReported = 20;
}

void Violations::add(Diagnostic d) {
  if (found_.size() >= kMaxReported) return;
  if (!d.place.known()) d.place = place_;
  if (!kernel_.empty()) d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel_));
  found_.push_back(std::move(d));
}

bool Violations::has(std::string_view code) const {
  return std::ranges::find(found_, code, &Diagnostic::code) != found_.end();
}

Status Violations::status() const {
  if (found_.empty()) return {};
  Diagnostic first = found_.front();
  first.related.assign(found_.begin() + 1, found_.end());
  return fail(std::move(first));
}

}  // namespace smalti::package
