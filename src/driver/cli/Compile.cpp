// smalti compile: the verdict of Google's TPU compiler on modules and chips, without a TPU.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "base/io/File.h"
#include "driver/cli/Compile.h"
#include "driver/cli/check/ErrorsOnce.h"
#include "driver/compile/Judge.h"
#include "driver/compile/SharedRefusals.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "pjrt/FindPlugin.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {
namespace {

using Asked = driver::RequestedModule;
using driver::CompilerVerdict;
using driver::Verdicts;

struct CompileArguments {
  std::vector<std::string> paths;
  std::vector<std::string> chips{"v5e"};
  std::string outFile, plugin;
};

Result<std::vector<std::string>> chosenChips(const std::vector<std::string>& named) {
  const std::vector<std::string> all(tpu::chipNames().begin(), tpu::chipNames().end());
  std::vector<std::string> chips;
  for (const std::string& name : named) {
    if (name == "all") return all;
    if (std::find(all.begin(), all.end(), name) == all.end())
      return fail({.code = "SM6609",
                   .message = fmt::format("there is no chip '{}'", name),
                   .place = {},
                   .need = fmt::format("one of {}, or all", fmt::join(all, ", "))});
    if (std::find(chips.begin(), chips.end(), name) == chips.end()) chips.push_back(name);
  }
  return chips;
}

/// "attention.v5e", with the folders before it joined by '-', so that no two modules of a folder share a name.
std::string executableName(const std::string& path, const std::string& chip) {
  std::string name = std::filesystem::path(path).lexically_normal().relative_path().replace_extension().string();
  std::replace(name.begin(), name.end(), '/', '-');
  while (name.starts_with(".") || name.starts_with("-")) name.erase(0, 1);
  return name + "." + chip;
}

std::string cell(const CompilerVerdict& v, bool color) {
  if (v.error) return term::styled(term::Style::red, "error", color);
  if (!v.accepted) return term::styled(term::Style::red, v.reason, color);
  return term::styled(term::Style::green, "accepted", color);
}

/// The kernel's own bytes; a star where XLA keeps operands in VMEM, which then are in none of its windows.
std::string vmemText(const CompilerVerdict& v) {
  if (!v.accepted) return "";
  return term::humanBytes(v.vmemBytes) + (v.xlaVmemOperands > 0 ? "*" : "");
}

std::string starNote(const Verdicts& verdicts) {
  const auto hasStar = [](const CompilerVerdict& v) { return v.accepted && v.xlaVmemOperands > 0; };
  const bool any = std::ranges::any_of(verdicts, [&](const auto& row) { return std::ranges::any_of(row, hasStar); });
  return any ? "* besides, XLA keeps operands or results in VMEM by itself, so that the kernel has no windows for "
               "them\n"
             : "";
}

/// One chip: a row per module with all details.
std::string detailTable(const std::vector<Asked>& asked, const Verdicts& verdicts, bool color) {
  using enum term::Align;
  term::Table table({{"module"}, {""}, {"VMEM", right}, {"code", right}, {"compiled in", right}, {"written to"}});
  for (const Asked& a : asked) {
    if (a.error) {
      table.add({a.path, term::styled(term::Style::red, "error", color), "", "", "", ""});
      continue;
    }
    const CompilerVerdict& v = verdicts[a.judged][0];
    table.add({a.path, cell(v, color), vmemText(v), v.accepted ? term::humanBytes(v.codeBytes) : "",
               v.seconds > 0 ? term::humanSeconds(v.seconds) : "", v.executable});
  }
  return table.str(color);
}

/// Several chips: a column each, with the bytes of VMEM or the class of the refusal.
std::string chipTable(const std::vector<Asked>& asked, const std::vector<std::string>& chips, const Verdicts& verdicts,
                      bool color) {
  std::vector<term::Table::Column> columns{{"module"}};
  for (const std::string& chip : chips) columns.push_back({chip, term::Align::right});
  term::Table table(std::move(columns));
  for (const Asked& a : asked) {
    std::vector<std::string> row{a.path};
    for (size_t c = 0; c < chips.size(); ++c) {
      if (a.error) {
        row.push_back(term::styled(term::Style::red, "error", color));
        continue;
      }
      const CompilerVerdict& v = verdicts[a.judged][c];
      row.push_back(v.accepted ? vmemText(v) : cell(v, color));
    }
    table.add(std::move(row));
  }
  return table.str(color);
}

Json toJson(const std::vector<Asked>& asked, const std::vector<std::string>& chips, const Verdicts& verdicts) {
  Json modules = Json::array();
  for (const Asked& a : asked) {
    Json entry{{"file", a.path}, {"error", a.error ? driver::toJson(*a.error) : Json(nullptr)}};
    entry["chips"] = Json::object();
    if (!a.error)
      for (size_t c = 0; c < chips.size(); ++c) entry["chips"][chips[c]] = driver::toJson(verdicts[a.judged][c]);
    modules.push_back(std::move(entry));
  }
  return {{"modules", std::move(modules)}};
}

struct Counts {
  int64_t accepted = 0, refused = 0, errors = 0;
};

Counts countsOf(const std::vector<Asked>& asked, const Verdicts& verdicts) {
  Counts n;
  for (const Asked& a : asked) n.errors += a.error.has_value();
  for (const auto& row : verdicts)
    for (const CompilerVerdict& v : row) {
      n.errors += v.error.has_value();
      n.accepted += v.accepted;
      n.refused += !v.accepted && !v.error;
    }
  return n;
}

/// The folder that contains all of several modules; empty: there is none, or it is the working folder.
std::filesystem::path commonFolder(const std::vector<Asked>& asked) {
  if (asked.size() < 2) return {};
  std::filesystem::path common = std::filesystem::path(asked[0].path).parent_path();
  for (const Asked& a : asked) {
    const std::filesystem::path folder = std::filesystem::path(a.path).parent_path();
    const auto end = std::ranges::mismatch(common, folder).in1;
    std::filesystem::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = std::move(shared);
  }
  return common == "/" ? std::filesystem::path() : common;
}

void printText(const Session& session, std::vector<Asked> asked, const std::vector<std::string>& chips,
               const Verdicts& verdicts, double seconds) {
  const bool color = session.colorOut();
  if (const std::filesystem::path folder = commonFolder(asked); !folder.empty()) {
    session.print(fmt::format("modules of {}\n", folder.string()));
    for (Asked& a : asked) a.path = std::filesystem::path(a.path).lexically_relative(folder).string();
  }
  session.print((chips.size() == 1 ? detailTable(asked, verdicts, color) : chipTable(asked, chips, verdicts, color)) +
                starNote(verdicts) + "\n");
  ErrorsOnce errors(session);
  for (const Asked& a : asked) {
    if (a.error) {
      errors.print(a.path, *a.error);
      continue;
    }
    for (const CompilerVerdict& v : verdicts[a.judged])
      if (v.error) errors.print(a.path, *v.error);
  }
  for (const driver::SharedRefusal& r : driver::sharedRefusals(asked, chips, verdicts))
    session.print(fmt::format("{}:\n{}\n", r.who(), session.diagnosticText(*r.diagnostic, "refused", color)));
  const Counts n = countsOf(asked, verdicts);
  const std::string version = driver::compilerVersion(verdicts);
  session.print(fmt::format("{} for {}: {} accepted, {} refused{}, in {}{}\n", counted(asked.size(), "module"),
                            fmt::join(chips, ", "), n.accepted, n.refused,
                            n.errors ? fmt::format(", {}", counted(static_cast<size_t>(n.errors), "error")) : "",
                            term::humanSeconds(seconds), version.empty() ? "" : "; libtpu of " + version));
}

int compile(const Session& session, const CompileArguments& arguments) {
  driver::JudgeRequest request;
  const auto chips = chosenChips(arguments.chips);
  if (!chips) {
    session.refuse(chips.error());
    return kUsage;
  }
  request.chips = *chips;
  const auto plugin = pjrt::findTpuPlugin(arguments.plugin, "--pjrt-plugin");
  if (!plugin) {
    session.refuse(plugin.error());
    return kUsage;  // nothing was judged
  }
  request.plugin = *plugin;
  const auto asked = driver::readModules(arguments.paths, request);
  if (!asked) return session.refuse(asked.error());

  const std::string& out = arguments.outFile;
  const bool oneFile = asked->size() == 1 && chips->size() == 1 && !std::filesystem::is_directory(out);
  if (!out.empty()) {
    if (!oneFile)
      if (Status made = makeFolder(out); !made) return session.refuse(made.error());
    request.executableFile = [&](size_t m, size_t c) {
      if (oneFile) return out;
      return (std::filesystem::path(out) / executableName(request.modules[m].path, request.chips[c])).string();
    };
  }
  term::Progress progress;
  const size_t total = request.modules.size() * chips->size();
  const Verdicts verdicts = driver::judge(request, session.options.values, [&](size_t done) {
    progress.update(fmt::format("{} of {} compilations, {:.0f} s", done, total, progress.seconds()));
  });
  const double seconds = progress.seconds();
  progress.clear();
  if (session.json())
    session.printJson(toJson(*asked, *chips, verdicts));
  else
    printText(session, *asked, *chips, verdicts, seconds);
  const Counts n = countsOf(*asked, verdicts);
  return n.refused ? kRefused : n.errors ? kUsage : kOk;
}

}  // namespace

void declareCompile(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CompileArguments>();
  app.add_option("modules", arguments->paths, "modules, case folders, or folders of them")
      ->required()
      ->type_name("PATH");
  app.add_option("--chip", arguments->chips,
                 fmt::format("what to compile for: {}, or all", fmt::join(tpu::chipNames(), ", ")))
      ->delimiter(',')
      ->type_name("CHIP")
      ->capture_default_str();
  app.add_option("-o,--output", arguments->outFile,
                 "write the executable to this file; of several modules or chips, to this folder as MODULE.CHIP")
      ->type_name("FILE");
  app.add_option("--pjrt-plugin", arguments->plugin,
                 "the compiler, as a PJRT plugin; by default the libtpu.so of the Python environment")
      ->type_name("FILE");
  session.addOptions(app, {OptionGroup::cases, OptionGroup::output}, {"corpus", "output"});
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return compile(session, *arguments); }; });
}

}  // namespace smalti::cli
