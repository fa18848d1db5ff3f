// Checks collectives against their devices, which only a walk from main through calls and meshes determines.
#include <set>

#include <fmt/format.h>

#include "ir/program/Exchange.h"

namespace smalti {
namespace {

class CollectivesWalk {
 public:
  explicit CollectivesWalk(const Program& program) : program_(program) {}

  Status visit(const Function& f, int64_t devices) {
    if (!visited_.emplace(&f, devices).second) return {};
    return visit(f, f.ops, devices);
  }

 private:
  Status visit(const Function& f, const std::vector<Op>& ops, int64_t devices) {
    for (const Op& op : ops) {
      if (isCollective(op.name)) {
        if (auto exchange = exchangeOf({op, f}, devices); !exchange) {
          Diagnostic d = std::move(exchange.error());
          d.where = {fmt::format("function '{}'", f.name)};
          return fail(std::move(d));
        }
      } else if (op.name == "call") {
        if (Status ok = visit(*program_.find(op.callee), devices); !ok) return ok;
      } else {
        const int64_t inside = op.name == "manual_computation" ? meshOf(program_, op).numDevices() : devices;
        for (const Block& block : op.regions)
          if (Status ok = visit(f, block.ops, inside); !ok) return ok;
      }
    }
    return {};
  }

  const Program& program_;
  std::set<std::pair<const Function*, int64_t>> visited_;
};

}  // namespace

Status verifyCollectives(const Program& program) {
  return CollectivesWalk(program).visit(program.functions[static_cast<size_t>(program.main)], 1);
}

}  // namespace smalti
