// A timeline in the JSON of trace events, which Perfetto and chrome://tracing open: a process for each kernel, tracks
// for its grid steps, what it computes and waits for, HBM and each window's copies, and counters over the whole run.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "driver/Json.h"
#include "driver/time/ProgramTime.h"

namespace smalti::cli {

class Trace {
 public:
  /// The kernels of a program on a chip, one after the other from 0 on, and what is around them at the end.
  void add(const Program&, const tpu::Chip&, const driver::ProgramTime&);
  /// A process with a name of its own; its number.
  int64_t process(const std::string& name);
  /// Adds a slice to a track of the process; tracks are in the order of their first slices. Overlapping slices of a
  /// track are put on several: "input 0", "input 0 (2)".
  void slice(int64_t process, const std::string& track, const std::string& name, double fromNs, double toNs,
             driver::Json arguments = driver::Json::object());
  void counter(int64_t process, const std::string& name, double atNs, double value);
  bool empty() const { return processes_.empty(); }
  /// Writes the trace, if there is anything in it.
  Status write(const std::string& file) const;

 private:
  struct Slice {
    std::string name;
    int64_t from = 0, to = 0;  ///< ns
    driver::Json arguments;
  };
  struct Process {
    std::string name;
    std::vector<std::string> order;
    std::map<std::string, std::vector<Slice>> tracks;
    std::vector<driver::Json> counters;
  };

  std::string text() const;
  double kernel(const tpu::Chip&, const std::string& name, const sim::KernelTime&, double startNs);

  std::vector<Process> processes_;
};

/// --trace FILE.
void declareTrace(CLI::App&, std::string& file);
/// SM1000: the file of --trace, if there is one, is that of the verb's other output.
Status requireOwnFile(const Session&, const std::string& file);

}  // namespace smalti::cli
