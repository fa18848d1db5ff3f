#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "driver/Version.h"
#include "driver/cli/Cli.h"
#include "driver/cli/Compile.h"
#include "driver/cli/Verbs.h"

namespace smalti::cli {
namespace {

std::vector<std::string> verbNames(const Application& application) {
  std::vector<std::string> names;
  for (const Verb& verb : application.verbs) names.emplace_back(verb.name);
  return names;
}

/// Conventional help: flags without their internal values, and each list of choices only once.
class Help : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const auto& names = option->get_lnames();
    if (!positional && names.size() == 2 && names[1] == "no-" + names[0])
      return fmt::format("--{},--{}", names[0], names[1]);
    return CLI::Formatter::make_option_name(option, positional);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    // Descriptions of CLI::IsMember and CLI::Range; choices such as cuda[:GPU] have colons of their own.
    for (const std::string_view validator : {":{", ":INT in ", ":UINT in "}) {
      const size_t begin = text.find(validator);
      if (begin == std::string::npos) continue;
      const size_t value = text.find('=', begin);
      text.erase(begin, value == std::string::npos ? value : value - begin);
    }
    return text;
  }
};

Diagnostic usage(std::string message, std::string help) {
  return {.code = "SM1000", .message = std::move(message), .place = {}, .help = std::move(help)};
}

/// The verbs that accept the option.
std::vector<std::string> verbsWith(const CLI::App& app, std::string_view option) {
  std::vector<std::string> found;
  if (option.size() < 3 || !findOption(option.substr(2))) return found;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->get_option_no_throw(std::string(option))) found.push_back(verb->get_name());
  return found;
}

/// Rewords a CLI11 parse error, and suggests the nearest option of the verb.
Diagnostic fromParseError(const CLI::ParseError& error, const CLI::App& app, std::span<const char* const> words,
                          std::string_view program) {
  const CLI::App* deepest = &app;
  std::string typed(program);
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    typed += " " + deepest->get_name();
  }
  const CLI::App& verb = *deepest;
  std::string message = error.what();
  if (const size_t end = message.find('\n'); end != std::string::npos) message.resize(end);
  std::string help = fmt::format("{} --help lists the options", typed);
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  for (std::string_view word : words) {
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
    message = fmt::format("unknown option '{}'", word.substr(0, 100));
    if (const auto others = verbsWith(app, word); !others.empty()) {
      message = fmt::format("{} does not accept {}", typed, word.substr(0, 100));
      help = fmt::format("accepted by: {}", fmt::join(others, ", "));
      break;
    }
    const auto near = nearest(word, flags, 1);
    if (!near.empty()) help = fmt::format("did you mean {}?", near[0]);
    break;
  }
  return usage(std::move(message), std::move(help));
}

int parseAndRun(const Application& application, int argc, const char* const* argv, Session& session) {
  CLI::App app(std::string(application.summary), std::string(application.name));
  app.formatter(std::make_shared<Help>());
  app.set_version_flag("--version", versionText());
  app.require_subcommand(1);
  app.footer(std::string(application.footer));
  for (const Verb& verb : application.verbs) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->footer(fmt::format("Example:\n{}", verb.example));
    verb.declare(*sub, session);
  }
  if (Status status = session.options.readEnvironment([](const char* name) { return std::getenv(name); }); !status)
    return session.refuse(status.error());

  const std::span<const char* const> words(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  if (words.empty()) {
    session.print(app.help());
    return kUsage;
  }
  const std::string_view first = words[0];
  const auto names = verbNames(application);
  const bool isVerb = std::find(names.begin(), names.end(), first) != names.end();
  if (!isVerb && !first.starts_with("-")) {
    const auto near = nearest(first, names, 1);
    return session.refuse(usage(fmt::format("unknown verb '{}'", first.substr(0, 100)),
                                near.empty() ? fmt::format("one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean '{} {}'?", application.name, near[0])));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    session.print(app.help());
    return kOk;
  } catch (const CLI::CallForVersion& version) {
    session.print(versionText() + "\n");
    return kOk;
  } catch (const CLI::ParseError& error) {
    return session.refuse(fromParseError(error, app, isVerb ? words.subspan(1) : words, application.name));
  }
  if (!session.optionStatus) return session.refuse(session.optionStatus.error());
  return session.action ? session.action() : kUsage;
}

}  // namespace

std::span<const Verb> verbs() {
  static constexpr std::array kVerbs{
      Verb{"run", "run a module or a recorded case and show its results",
           "  smalti run add_grid_1d                        a recorded case: runs and compares\n"
           "  smalti run kernel.mlir --in x.npy --out-shape 'f32[8,128]' --out results",
           declareRun},
      Verb{"check", "run with every check and report errors that stay silent on a TPU",
           "  smalti check attention.mlir --fill random", declareCheck},
      Verb{"conform", "run every recorded case below a folder and compare",
           "  smalti conform test/data/cases --jobs 2 --json result.json", declareConform},
      Verb{"show", "show the IR, the windows, and when each block is fetched and written back",
           "  smalti show add_grid_1d --steps 8\n"
           "  smalti show matmul_bf16_gelu --target cpu     native code: tiles, times, the inner loop",
           declareShow},
      Verb{"describe", "list what is in a module: kernels, operands, grid, configuration, ops",
           "  smalti describe attention.mlir --json", declareDescribe},
      Verb{"export", "write a module in another form",
           "  smalti export attention.mlir --format bytecode --version 15 -o attention.mosaic.bc\n"
           "  smalti export attention.mlir --format object --target-cpu haswell -o attention.o   also writes "
           "attention.h",
           declareExport},
      Verb{"compile", "ask Google's TPU compiler whether it accepts kernels, without a TPU",
           "  smalti compile attention.mlir --chip v5e\n"
           "  smalti compile kernels/ --chip all --json\n"
           "  smalti compile attention.mlir --chip v6e -o attention.v6e    an executable for a v6e",
           declareCompile},
      Verb{"cache", "show, fill or clear the folder of compiled kernels",
           "  smalti cache                                  its location and contents\n"
           "  smalti cache warm attention.mlir              compiles its kernels into it\n"
           "  smalti cache --clear\n"
           "  smalti run add_grid_1d --target cpu --cache off",
           declareCache},
      Verb{"time", "estimate how long kernels take on TPUs, and why",
           "  smalti time attention.mlir --chip v5e\n"
           "  smalti time attention.mlir                    on each chip\n"
           "  smalti time grouped.mlir --chip v6e --in 2=group_sizes.npy --json",
           declareTime},
      Verb{
          "tune", "find the fastest block sizes: for TPUs with the timing model, for this machine by measurement",
          "  smalti tune matmul.mlir --chip v5e\n"
          "  smalti tune matmul --operand 'bf16[4096,4096]' --operand 'bf16[4096,4096]' --chip v5e --tuned tuned.toml\n"
          "  smalti tune softmax --operand 'f32[1024,4096]' --target cpu",
          declareTune},
      Verb{"report", "write an HTML report of what TPU compilers and the models report about a module",
           "  smalti report attention.mlir -o attention.html\n"
           "  smalti report attention.mlir --chip v5e,v6e -o attention.html\n"
           "  smalti report attention.mlir --target cpu -o attention.html   with measured native code",
           declareReport},
      Verb{"chips", "show the known facts about TPUs, with sources",
           "  smalti chips\n"
           "  smalti chips v5e\n"
           "  smalti chips v5e --toml > my_chip.toml        one to change: --chip my_chip.toml",
           declareChips},
      Verb{"explain", "explain an error code", "  smalti explain SM1012", declareExplain},
      Verb{"env", "list every option with its variable, value and origin", "  SMALTI_SEED=7 smalti env", declareEnv},
      Verb{"new", "create a folder with a small kernel to start from", "  smalti new hello", declareNew},
  };
  return kVerbs;
}

int main(const Application& application, int argc, const char* const* argv) {
  holdStandardDescriptors();
  Session session;
  session.kernels = application.kernels;
  const auto guarded = [&] {
    try {
      return parseAndRun(application, argc, argv, session);
    } catch (const std::bad_alloc&) {
      return session.refuse({.code = "SM9013",
                             .message = "out of memory",
                             .place = {},
                             .help = "use smaller arrays, or a machine with more memory"});
    } catch (const std::exception& error) {
      return session.refuse({.code = "SM9010",
                             .message = "internal error: this is a bug in Smalti",
                             .place = {},
                             .have = error.what(),
                             .help = "please report it with the command and the module"});
    }
  };
  return session.finish(guarded());
}

int main(int argc, const char* const* argv, std::span<const Tunable> kernels) {
  return main({.name = "smalti",
               .summary = "Runs and checks Pallas TPU kernels on this machine.",
               .footer = "Start with: smalti new hello\nExit codes: 0 ok, 1 wrong result, 2 usage, 3 refused by a "
                         "check, 4 internal error.\nOptions can also be set with SMALTI_… variables: see smalti env.",
               .verbs = verbs(),
               .kernels = kernels},
              argc, argv);
}

}  // namespace smalti::cli
