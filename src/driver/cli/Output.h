// The destination of a verb's output: standard output, or the file of -o. Every failed write is reported.
#pragma once

#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::cli {

/// Opens /dev/null in place of closed standard descriptors, so that no file that is opened later becomes one of them.
/// Writing to a standard output that was closed still fails.
void holdStandardDescriptors();

class Output {
 public:
  std::string file = "-";  ///< of -o; "-" is standard output
  bool toFile() const { return file != "-"; }

  /// Writes to standard output immediately; `finish` writes a file as a whole.
  void write(std::string_view);
  /// Flushes standard output before something is written to standard error.
  void flush();
  /// Ends the output. SM1006 when not all of it could be written. A file is made for no output only when wanted.
  Status finish(bool writeEmptyFile);

 private:
  std::string text_;  ///< for the file
  int error_ = 0;     ///< errno of the first write to standard output that failed
};

}  // namespace smalti::cli
