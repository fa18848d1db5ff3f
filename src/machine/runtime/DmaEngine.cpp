#include "machine/runtime/DmaEngine.h"

#include "eval/Shape.h"

namespace smalti::machine {

int64_t& semaphoreCount(const Ref& ref) { return ref.buffer->storage.as<int64_t>()[ref.offset]; }

int64_t dmaCredit(const Ref& semaphore, int64_t bytes) {
  return semaphore.buffer->type.dtype == DType::dma_semaphore ? bytes : 1;
}

namespace {

bool sameSemaphore(const Ref& a, const Ref& b) { return a.buffer == b.buffer && a.offset == b.offset; }

}  // namespace

void DmaEngine::start(DmaTransfer transfer, int program, bool strictOrdering) {
  transfer.id = nextId_++;
  pending_.push_back({std::move(transfer), program, strictOrdering});
  ++statistics_->dmaTransfers;
  statistics_->dmaBytes += pending_.back().transfer.bytes;
  if (execution_ == DmaExecution::eager) complete(pending_.size() - 1);
}

void DmaEngine::makeProgress() {
  if (execution_ != DmaExecution::random || pending_.empty()) return;
  // One chance in two that one of the copies moves: enough to see both orders, seldom enough to leave some in flight.
  if (random_.next() & 1) complete(random_.below(static_cast<int64_t>(pending_.size())));
}

void DmaEngine::makeProgressFor(const Ref& semaphore, int64_t amount) {
  std::vector<size_t> candidates;
  while (semaphoreCount(semaphore) < amount) {
    candidates.clear();
    for (size_t i = 0; i < pending_.size(); ++i) {
      const DmaTransfer& t = pending_[i].transfer;
      if (sameSemaphore(t.targetSemaphore, semaphore) ||
          (t.sourceSemaphore.buffer && sameSemaphore(t.sourceSemaphore, semaphore)))
        candidates.push_back(i);
    }
    if (candidates.empty()) return;
    const bool any = execution_ == DmaExecution::random;
    complete(candidates[any ? random_.below(static_cast<int64_t>(candidates.size())) : 0]);
  }
}

void DmaEngine::moveOne() {
  if (!pending_.empty()) complete(random_.below(static_cast<int64_t>(pending_.size())));
}

bool DmaEngine::drain() {
  const bool some = !pending_.empty();
  while (!pending_.empty()) complete(0);
  return some;
}

/// Moves one copy's data; a strictly ordered one after all that its program started before it.
void DmaEngine::complete(size_t position) {
  const Pending chosen = std::move(pending_[position]);
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(position));
  if (chosen.strictOrdering) {
    for (size_t i = 0; i < position;) {
      if (pending_[i].program != chosen.program) {
        ++i;
        continue;
      }
      const Pending earlier = std::move(pending_[i]);
      pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
      --position;
      execute(earlier);
    }
  }
  execute(chosen);
}

void DmaEngine::execute(const Pending& pending) {
  const DmaTransfer& t = pending.transfer;
  const bool padded = !t.source.present.empty() || !t.target.present.empty();
  const bool masks =
      tracks_ && !(t.source.buffer->allDefined && t.target.buffer->allDefined && t.source.present.empty());
  const bool direct = t.source.strided() && t.target.strided() && t.source.buffer != t.target.buffer &&
                      t.source.shape == t.target.shape && !masks && !padded;
  if (direct) {
    const int bytes = t.source.buffer->elementBytes();
    eval::copyStrided(t.source.buffer->data() + t.source.offset * bytes, t.source.strides,
                      t.target.buffer->data() + t.target.offset * bytes, t.target.strides, t.source.shape, bytes);
  } else {
    const int64_t n = t.source.elements();
    bytes_.resize(n * storage_bytes(t.source.dtype()));
    mask_.resize(masks ? n : 0);
    if (!t.source.present.empty()) poison(t.source.dtype(), poison_, bytes_.data(), n);
    const bool defined = t.source.read(bytes_.data(), masks ? mask_.data() : nullptr);
    t.target.write(bytes_.data(), masks && !defined ? mask_.data() : nullptr);
  }
  semaphoreCount(t.targetSemaphore) += dmaCredit(t.targetSemaphore, t.bytes);
  if (t.sourceSemaphore.buffer) semaphoreCount(t.sourceSemaphore) += dmaCredit(t.sourceSemaphore, t.bytes);
  if (observer_) observer_->dmaComplete(t);
}

}  // namespace smalti::machine
