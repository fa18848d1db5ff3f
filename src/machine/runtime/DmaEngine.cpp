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
  const size_t last = pending_.size() - 1;
  if (policy_->choose(DmaOccasion::start, {pending_, {&last, 1}})) complete(last);
}

void DmaEngine::moveChosen(DmaOccasion occasion) {
  if (pending_.empty()) return;
  const DmaCandidates all(pending_);
  if (const auto chosen = policy_->choose(occasion, all)) complete(all.position(*chosen));
}

void DmaEngine::onActivity() { moveChosen(DmaOccasion::activity); }
void DmaEngine::onRoundEnd() { moveChosen(DmaOccasion::roundEnd); }

void DmaEngine::moveFor(DmaOccasion occasion, const Ref& semaphore, int64_t amount) {
  while (semaphoreCount(semaphore) < amount) {
    candidates_.clear();
    for (size_t i = 0; i < pending_.size(); ++i) {
      const DmaTransfer& t = pending_[i].transfer;
      if (sameSemaphore(t.targetSemaphore, semaphore) ||
          (t.sourceSemaphore.buffer && sameSemaphore(t.sourceSemaphore, semaphore)))
        candidates_.push_back(i);
    }
    if (candidates_.empty()) return;
    const auto chosen = policy_->choose(occasion, {pending_, candidates_});
    if (!chosen) return;
    complete(candidates_[*chosen]);
  }
}

bool DmaEngine::onStuck() {
  if (pending_.empty()) return false;
  std::optional<size_t> chosen = policy_->choose(DmaOccasion::stuck, DmaCandidates(pending_)).value_or(0);
  while (chosen) {
    complete(*chosen);
    chosen = pending_.empty() ? std::nullopt : policy_->choose(DmaOccasion::stuck, DmaCandidates(pending_));
  }
  return true;
}

void DmaEngine::drain() {
  while (onStuck()) {
  }
}

/// Moves one copy's data; a strictly ordered one after all that its program started before it.
void DmaEngine::complete(size_t position) {
  const DmaInFlight chosen = std::move(pending_[position]);
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(position));
  if (chosen.strictOrdering) {
    for (size_t i = 0; i < position;) {
      if (pending_[i].program != chosen.program) {
        ++i;
        continue;
      }
      const DmaInFlight earlier = std::move(pending_[i]);
      pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
      --position;
      execute(earlier);
    }
  }
  execute(chosen);
}

void DmaEngine::execute(const DmaInFlight& copy) {
  const DmaTransfer& t = copy.transfer;
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
