#include "machine/runtime/DmaEngine.h"

#include "eval/Shape.h"

namespace smalti::machine {

int64_t& semaphoreCount(const Ref& ref) { return ref.buffer->storage.as<int64_t>()[ref.offset]; }

int64_t dmaCredit(const Ref& semaphore, int64_t bytes) {
  return semaphore.buffer->type.dtype == DType::dma_semaphore ? bytes : 1;
}

void DmaEngine::start(DmaTransfer transfer, int program) {
  transfer.id = nextId_++;
  pending_.push_back({std::move(transfer), program});
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
  if (pending_.empty()) return;
  const SemaphoreId raised = semaphoreIdOf(semaphore);
  while (semaphoreCount(semaphore) < amount) {
    candidates_.clear();
    for (size_t i = 0; i < pending_.size(); ++i) {
      const DmaTransfer& t = pending_[i].transfer;
      if (semaphoreIdOf(t.targetSemaphore) == raised || (!t.isLocal() && semaphoreIdOf(t.sourceSemaphore) == raised))
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
  std::optional<size_t> chosen = policy_->choose(DmaOccasion::stuck, DmaCandidates(pending_));
  if (!chosen && policy_->mayRefuseAll()) return false;
  chosen = chosen.value_or(0);
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
  if (chosen.transfer.strictOrdering) {
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
  if (t.staysHere())
    moveHere(t);
  else
    send(t);
  if (!t.isLocal()) semaphoreCount(t.sourceSemaphore) += dmaCredit(t.sourceSemaphore, t.bytes);
  if (observer_) observer_->dmaComplete(t);
}

bool DmaEngine::stage(const Ref& source, bool masks) {
  const int64_t n = source.elements();
  bytes_.resize(n * storage_bytes(source.dtype()));
  mask_.resize(masks ? n : 0);
  if (!source.present.empty()) poison(source.dtype(), poison_, bytes_.data(), n);
  const bool defined = source.read(bytes_.data(), masks ? mask_.data() : nullptr);
  return masks && !defined;
}

void DmaEngine::moveHere(const DmaTransfer& t) {
  const Ref &source = t.source, &target = t.target.view;
  const bool padded = !source.present.empty() || !target.present.empty();
  const bool masks = tracks_ && !(source.buffer->allDefined && target.buffer->allDefined && source.present.empty());
  const bool direct = source.strided() && target.strided() && source.buffer != target.buffer &&
                      source.shape == target.shape && !masks && !padded;
  if (direct) {
    const int bytes = source.buffer->elementBytes();
    eval::copyStrided(source.buffer->data() + source.offset * bytes, source.strides,
                      target.buffer->data() + target.offset * bytes, target.strides, source.shape, bytes);
  } else {
    const bool masked = stage(source, masks);
    target.write(bytes_.data(), masked ? mask_.data() : nullptr);
  }
  semaphoreCount(t.targetSemaphore.view) += dmaCredit(t.targetSemaphore.view, t.bytes);
}

void DmaEngine::send(const DmaTransfer& t) {
  const bool masked = stage(t.source, tracks_ && !(t.source.buffer->allDefined && t.source.present.empty()));
  PutMessage message{.id = t.id,
                     .sender = {t.device, t.core, t.place},
                     .target = addressOf(t.target),
                     .semaphore = addressOf(t.targetSemaphore),
                     .credit = dmaCredit(t.targetSemaphore.view, t.bytes),
                     .data = bytes_,
                     .mask = {}};
  if (masked) message.mask = mask_;
  Status sent = transport_->put(message);
  if (!sent && status_) status_ = std::move(sent);
}

}  // namespace smalti::machine
