// smalti chips: known facts about TPUs, with their sources.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/cli/Verbs.h"
#include "driver/term/Table.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {
namespace {

struct ChipsArguments {
  std::string chip;
  bool toml = false;
};

int listChips(const Session& session) {
  Json rows = Json::array();
  term::Table table(
      {{"chip"}, {"what it is"}, {"cores of a device"}, {"VMEM of a core, MiB"}, {"HBM, GB/s"}, {"bf16, TFLOP/s"}});
  for (std::string_view name : tpu::chipNames()) {
    const auto chip = tpu::findChip(name);
    if (!chip) return session.refuse(chip.error());
    table.add({chip->name, chip->title, std::to_string(chip->device.coresPerDevice),
               std::to_string(chip->memory.vmemBytes >> 20), fmt::format("{:g}", chip->memory.hbmGbPerSecond),
               fmt::format("{:g}", chip->mxu.bf16TflopsPerChip)});
    rows.push_back({{"chip", chip->name}, {"title", chip->title}});
  }
  if (session.json())
    session.printJson(rows);
  else
    session.print(table.str(session.colorOut()));
  return kOk;
}

int show(const Session& session, const ChipsArguments& arguments) {
  if (arguments.chip.empty() && arguments.toml)
    return session.refuse({.code = "SM1000",
                           .message = "--toml prints the file of one chip",
                           .place = {},
                           .need = fmt::format("a chip: {}", fmt::join(tpu::chipNames(), ", ")),
                           .have = "none",
                           .help = "for example: smalti chips v5e --toml"});
  if (arguments.chip.empty()) return listChips(session);
  if (arguments.toml) {
    const auto text = tpu::chipText(arguments.chip);
    if (!text) return session.refuse(text.error());
    session.print(*text);
    return kOk;
  }
  const auto chip = tpu::findChip(arguments.chip);
  if (!chip) return session.refuse(chip.error());
  Json facts = Json::object();
  term::Table table({{"key"}, {"value"}, {"what it is"}, {"from"}});
  for (const tpu::ChipFact& f : tpu::factsOf(*chip)) {
    table.add({f.path, f.value, f.help, f.source});
    facts[f.path] = {
        {"value", f.isText ? Json(f.value) : Json::parse(f.value)}, {"help", f.help}, {"source", f.source}};
  }
  if (session.json())
    session.printJson({{"chip", chip->name}, {"title", chip->title}, {"facts", std::move(facts)}});
  else
    session.print(table.str(session.colorOut()));
  return kOk;
}

}  // namespace

void declareChips(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ChipsArguments>();
  app.add_option("chip", arguments->chip,
                 fmt::format("{} or a .toml file; without it, all are listed", fmt::join(tpu::chipNames(), ", ")))
      ->type_name("CHIP");
  app.add_flag("--toml", arguments->toml, "print the chip's file, to copy and change");
  session.addOptions(app, {OptionGroup::output});
  app.callback([&session, arguments] { session.action = [&session, arguments] { return show(session, *arguments); }; });
}

}  // namespace smalti::cli
