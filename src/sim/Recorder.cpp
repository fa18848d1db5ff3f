#include "sim/Recorder.h"

#include <algorithm>

namespace smalti::sim {

Recorder::Recorder(size_t mostEvents, size_t mostStretches) : mostEvents_(mostEvents), mostStretches_(mostStretches) {
  constexpr double kFirstWidthCycles = 64;
  recording_.width = kFirstWidthCycles;
}

void Recorder::add(Event e) {
  full_ |= recording_.events.size() >= mostEvents_;
  if (!full_ && e.to > e.from) recording_.events.push_back(std::move(e));
}

void Recorder::makeRoom(double until) {
  auto& all = recording_.stretches;
  while (until > recording_.width * static_cast<double>(mostStretches_)) {
    for (size_t i = 0; i < all.size(); i += 2) {
      Stretched pair = all[i];
      if (i + 1 < all.size()) {
        for (size_t u = 0; u < Work::numUnits; ++u) pair.units[u] += all[i + 1].units[u];
        pair.waiting += all[i + 1].waiting;
        pair.hbmBytes += all[i + 1].hbmBytes;
      }
      all[i / 2] = pair;
    }
    all.resize((all.size() + 1) / 2);
    recording_.width *= 2;
  }
  const size_t needed = std::min(mostStretches_, stretchOf(until) + 1);
  if (all.size() < needed) all.resize(needed);
}

void Recorder::spread(double from, double to, double Stretched::* of, double amount) {
  if (to <= from) return;
  makeRoom(to);
  auto& all = recording_.stretches;
  for (size_t i = stretchOf(from); i < all.size(); ++i) {
    const double begins = static_cast<double>(i) * recording_.width;
    if (begins >= to) break;
    all[i].*of += amount * (std::min(to, begins + recording_.width) - std::max(from, begins)) / (to - from);
  }
}

void Recorder::computed(const Work& work, double from, double to) {
  if (to <= from) return;
  makeRoom(to);
  auto& all = recording_.stretches;
  for (size_t i = stretchOf(from); i < all.size(); ++i) {
    const double begins = static_cast<double>(i) * recording_.width;
    if (begins >= to) break;
    const double share = (std::min(to, begins + recording_.width) - std::max(from, begins)) / (to - from);
    for (size_t u = 0; u < Work::numUnits; ++u) all[i].units[u] += share * work.cycles[u];
  }
  if (!full_) add({Track::compute, "compute", std::string(sim::name(work.busiest())), step_, from, to, 0});
}

void Recorder::waited(double from, double to, int32_t forCopy) {
  spread(from, to, &Stretched::waiting, to - from);
  if (full_) return;
  const bool named = forCopy >= 0 && static_cast<size_t>(forCopy) < copies_.size();
  add({Track::wait, "waits", named ? "for " + copies_[static_cast<size_t>(forCopy)] : "for a copy", step_, from, to,
       0});
}

void Recorder::nextCopy(std::string lane, std::string name, int64_t step) {
  next_.lane = std::move(lane);
  next_.name = std::move(name);
  next_.step = step;
}

int32_t Recorder::copied(double issued, double begins, double moved, double done, double bytes, bool hbm) {
  if (hbm) spread(begins, moved, &Stretched::hbmBytes, bytes);
  if (full_) return -1;
  if (hbm) add({Track::hbm, "HBM", next_.name, next_.step, begins, moved, bytes});
  add({Track::copy, next_.lane, next_.name, next_.step, issued, done, bytes});
  copies_.push_back(next_.name);
  return static_cast<int32_t>(copies_.size()) - 1;
}

void Recorder::stepped(std::string name, double from, double bodyFrom, double bodyTo, double to) {
  if (full_) return;
  add({Track::body, "body", name, step_, bodyFrom, bodyTo, 0});
  add({Track::step, "grid steps", std::move(name), step_, from, to, 0});
  if (full_) return;  // there was no room for the last of its events
  recording_.steps = step_ + 1;
  recording_.until = to;
}

Recording Recorder::take(double end) {
  makeRoom(end);
  recording_.whole = !full_;
  // A step that did not fit completely is dropped; without a grid, all events that fit are kept.
  if (full_ && recording_.steps > 0)
    std::erase_if(recording_.events, [&](const Event& e) { return e.step >= recording_.steps; });
  if (!full_) recording_.until = end;
  if (full_ && recording_.steps == 0)
    for (const Event& e : recording_.events) recording_.until = std::max(recording_.until, e.to);
  return std::move(recording_);
}

}  // namespace smalti::sim
