// smalti cache: the folder of compiled kernels.
#include <filesystem>

#include <fmt/format.h>

#include "cpu/cache/CompileCache.h"
#include "driver/cli/CacheWarm.h"
#include "driver/cli/Verbs.h"
#include "driver/term/Style.h"

namespace smalti::cli {
namespace {

/// SM7002, as when a kernel would be stored; but the folder is not made.
Status checkFolder(const cpu::CompileCache& cache) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(cache.folder(), error);
  const bool isMissing = status.type() == std::filesystem::file_type::not_found;
  return isMissing && error == std::errc::no_such_file_or_directory ? cache.firstError() : cache.usable();
}

int cache(const Session& session, bool clear) {
  const Options& options = session.options.values;
  const int64_t limitBytes = options.cacheLimitMib << 20;
  const auto cache = cpu::openCache(options.cache, limitBytes);
  if (!cache) {
    if (session.json())
      session.printJson({{"folder", nullptr}, {"entries", 0}, {"bytes", 0}, {"limit_bytes", limitBytes}});
    else
      session.print("no folder: compiled kernels are not kept\n");
    return kOk;
  }
  if (Status usable = checkFolder(*cache); !usable) return session.refuse(usable.error());
  const auto removed = clear ? cache->clear() : cpu::CompileCache::Usage{};
  const auto usage = cache->usage();
  if (session.json()) {
    Json json{
        {"folder", cache->folder()}, {"entries", usage.entries}, {"bytes", usage.bytes}, {"limit_bytes", limitBytes}};
    if (clear) json["removed"] = {{"entries", removed.entries}, {"bytes", removed.bytes}};
    session.printJson(json);
    return kOk;
  }
  session.print(fmt::format("folder   {}\n", cache->folder()));
  if (clear)
    session.print(fmt::format("removed  {} kernels, {} bytes\n", removed.entries, term::grouped(removed.bytes)));
  else
    session.print(fmt::format("kernels  {}\nbytes    {} of {}\n", term::grouped(usage.entries),
                              term::grouped(usage.bytes), term::grouped(limitBytes)));
  return kOk;
}

}  // namespace

void declareCache(CLI::App& app, Session& session) {
  auto clear = std::make_shared<bool>(false);
  app.add_flag("--clear", *clear, "remove all kernels; keep other files of the folder");
  session.addOptions(app, {OptionGroup::cache, OptionGroup::output});
  const CLI::App* warm = declareCacheWarm(app, session);
  app.callback([&session, clear, warm] {
    if (!warm->parsed()) session.action = [&session, clear] { return cache(session, *clear); };
    if (warm->parsed() && *clear)
      session.action = [&session] {
        return session.refuse({.code = "SM1000",
                               .message = "--clear and warm cannot be combined",
                               .place = {},
                               .help = "first smalti cache --clear, then smalti cache warm"});
      };
  });
}

}  // namespace smalti::cli
