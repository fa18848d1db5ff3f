#include "schedule/BodyScheduler.h"

#include <algorithm>

namespace smalti::schedule {
namespace {

/// Whether a load and a store may access the same elements, but not with the same box. The store of one element may
/// then overwrite another element that is still to be loaded.
bool overlapsElsewhere(const ScheduledOp& load, const ScheduledOp& store) {
  return mayOverlap(*load.access, *store.access) && !areDisjoint(*load.op, *store.op) &&
         !(load.access->shape == store.access->shape && haveSameAddress(*load.op, *store.op));
}

}  // namespace

const ScheduledOp* BodyScheduler::findPending(const mlir::Operation* op) const {
  const auto at = std::ranges::find(pending_, op, &ScheduledOp::op);
  return at == pending_.end() ? nullptr : &*at;
}

bool BodyScheduler::isIdle() const {
  return llvm::all_of(pending_, [](const ScheduledOp& p) { return isRematerializable(p); });
}

int BodyScheduler::lastNeed(mlir::Value v) const {
  int last = liveness_.lastUse(v);
  for (mlir::Operation* user : v.getUsers())
    if (!isDone(user) && user->getNumResults() == 1 && isRematerializableShapeOp(*user))
      last = std::max(last, lastNeed(user->getResult(0)));
  return last;
}

bool BodyScheduler::isNeededLater(mlir::Value v) const {
  return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) { return !isDone(user); });
}

bool BodyScheduler::isLiveOut(mlir::Value v, const llvm::DenseSet<mlir::Operation*>& here) const {
  return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) {
    if (isDone(user) || here.contains(user)) return false;
    return !isRematerializableShapeOp(*user) || user->getNumResults() != 1 || isLiveOut(user->getResult(0), here);
  });
}

/// For each pending op, the position of the last pending op that needs its value; the list's size if an op outside
/// does.
std::vector<size_t> BodyScheduler::lastNeeds(const llvm::DenseMap<mlir::Operation*, size_t>& position) const {
  std::vector<size_t> last(pending_.size(), 0);
  // Backwards, since users come later.
  for (size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].isStore()) continue;
    for (mlir::Operation* user : pending_[i].op->getResult(0).getUsers()) {
      const auto at = position.find(user);
      if (at != position.end())
        last[i] = std::max(last[i], isRematerializable(pending_[at->second]) ? last[at->second] : at->second);
      else if (!isDone(user))
        last[i] = pending_.size();
    }
  }
  return last;
}

/// Rematerializable ops that must be materialised now, since a store comes between them and a user. Before writes:
/// also all that an op outside the list needs.
llvm::DenseSet<mlir::Operation*> BodyScheduler::opsToMaterialise(Flush flush) const {
  llvm::DenseMap<mlir::Operation*, size_t> position;
  for (size_t i = 0; i < pending_.size(); ++i) position[pending_[i].op] = i;
  const std::vector<size_t> last = lastNeeds(position);
  const auto isOutside = [&](mlir::Operation* user) { return !position.contains(user) && !isDone(user); };
  llvm::DenseSet<mlir::Operation*> ops;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const ScheduledOp& p = pending_[i];
    if (!isRematerializable(p)) continue;
    if (flush == Flush::beforeWrites && last[i] == pending_.size() &&
        llvm::any_of(p.op->getResult(0).getUsers(), isOutside))
      ops.insert(p.op);
    if (!p.isLoad()) continue;
    for (size_t s = i + 1; s < std::min(last[i], pending_.size()); ++s)
      if (pending_[s].isStore() && mayOverlap(*pending_[s].access, *p.access)) ops.insert(p.op);
    // A store that reads its own memory elsewhere would overwrite elements before it reads them.
    if (last[i] < pending_.size() && pending_[last[i]].isStore() && overlapsElsewhere(p, pending_[last[i]]))
      ops.insert(p.op);
  }
  return ops;
}

Segment BodyScheduler::take(Flush flush, const Surroundings& surroundings) {
  const llvm::DenseSet<mlir::Operation*> toMaterialise = opsToMaterialise(flush);
  Segment segment = planSegment(std::exchange(pending_, {}), toMaterialise, surroundings);
  if (llvm::any_of(segment.nests, [](const Nest& nest) { return !nest.plan.roots.empty(); }))
    segment.number = ++segments_;
  return segment;
}

void BodyScheduler::finish(const Segment& segment, Flush flush) {
  for (const Nest& nest : segment.nests)
    for (const size_t i : nest.ops) done_.insert(segment.ops[i].op);
  // Backwards, since a rematerializable op is needed if one of its users is.
  std::vector<ScheduledOp> rest;
  for (size_t i = segment.ops.size(); i-- > 0;) {
    const ScheduledOp& p = segment.ops[i];
    if (isDone(p.op)) continue;
    if (flush == Flush::values && isNeededLater(p.op->getResult(0)))
      rest.push_back(p);
    else
      done_.insert(p.op);
  }
  pending_.assign(rest.rbegin(), rest.rend());
}

}  // namespace smalti::schedule
