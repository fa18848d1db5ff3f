// Records the activity of a core and its copies for timelines. Bounded: the first events individually, and
// the activity of the whole run in a fixed number of equal intervals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/Work.h"

namespace smalti::sim {

enum class Track : uint8_t { step, body, compute, wait, hbm, copy };

/// One thing that takes time, in cycles from the kernel's start.
struct Event {
  Track track = Track::body;
  std::string
      lane;  ///< of a copy: the window, or the memories: "input 0", "input 1 to scratch 0"; else the track's name
  std::string name;  ///< "input 0 (3, 2)", "matrix unit"
  int64_t step = 0;  ///< of the grid, that it is for
  double from = 0, to = 0;
  double bytes = 0;  ///< of copies
};

/// The activity in a period of time, in cycles and bytes.
struct Stretched {
  std::array<double, Work::numUnits> units{};
  double waiting = 0, hbmBytes = 0;
};

struct Recording {
  std::vector<Event> events;         ///< all of the steps before `steps`, in the order in which they were noted
  int64_t steps = 0;                 ///< grid steps that are there as a whole
  double until = 0;                  ///< when the last of them ended
  bool whole = true;                 ///< nothing was left out
  double width = 0;                  ///< cycles of a stretch
  std::vector<Stretched> stretches;  ///< from the kernel's start to its end
};

class Recorder {
 public:
  /// At most `mostEvents` events, and as many stretches.
  Recorder(size_t mostEvents, size_t mostStretches);

  void setStep(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }
  /// No room for more events: names need not be created.
  bool full() const { return full_; }
  void computed(const Work&, double from, double to);
  void waited(double from, double to, int32_t forCopy);
  /// The next copy is this one; `step`: that it is for.
  void nextCopy(std::string lane, std::string name, int64_t step);
  /// `begins`, `moved`: when HBM begins and ends to move its data, if it is involved. The number of the copy.
  int32_t copied(double issued, double begins, double moved, double done, double bytes, bool hbm);
  void stepped(std::string name, double from, double bodyFrom, double bodyTo, double to);

  Recording take(double end);

 private:
  void add(Event);
  void spread(double from, double to, double Stretched::* of, double amount);
  void makeRoom(double until);
  size_t stretchOf(double at) const { return static_cast<size_t>(at / recording_.width); }

  size_t mostEvents_, mostStretches_;
  Recording recording_;
  bool full_ = false;
  int64_t step_ = 0;
  std::vector<std::string> copies_;  ///< names, by number, while there is room for events
  Event next_;
};

}  // namespace smalti::sim
