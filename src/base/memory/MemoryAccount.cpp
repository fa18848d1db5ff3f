#include "base/memory/MemoryAccount.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Success.h"

namespace smalti {

Status MemoryAccount::take(int64_t bytes, std::string_view what) {
  if (bytes < 0 || (limit_ > 0 && bytes > limit_ - used_))
    return fail({.code = "SM9002",
                 .message = fmt::format("the memory limit is reached by {}", what),
                 .place = {},
                 .need = fmt::format("{} bytes on top of the {} in use", bytes, used_),
                 .have = fmt::format("a limit of {} bytes", limit_),
                 .help = "use smaller blocks, scratch or arrays, or raise the memory limit"});
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return success();
}

}  // namespace smalti
