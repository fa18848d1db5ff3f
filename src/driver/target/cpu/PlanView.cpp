#include "driver/target/cpu/PlanView.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/term/Table.h"
#include "ir/Types.h"

namespace smalti::driver {
namespace {

std::string orDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string dimensions(const std::vector<size_t>& dims) { return fmt::format("{}", fmt::join(dims, ", ")); }

/// Remarks on how an operand is accessed.
std::string notesOf(const cpu::BlockPlan& b, const cpu::BlockLocality& locality) {
  std::vector<std::string> notes;
  if (b.sameMemory) notes.push_back(fmt::format("the memory of input {}", *b.sameMemory));
  if (b.isPadded) notes.push_back("whole tiles");
  if (!b.maybeOutside.empty()) notes.push_back("checked in dimension " + dimensions(b.maybeOutside));
  if (b.tracksBlock) notes.push_back("fetched when the block changes");
  if (locality.prefetchesNext) notes.push_back("next block prefetched");
  if (const auto& reuse = locality.reuse)
    notes.push_back(reuse->empty() ? "block reused soon" : "blocks reused soon, dimension " + dimensions(*reuse));
  if (locality.isInDram) notes.push_back("larger than the caches");
  if (locality.isNonTemporal) notes.push_back("non-temporal stores of aligned lines");
  return orDash(fmt::format("{}", fmt::join(notes, "; ")));
}

/// Lanes of the vectors of columns, by how many of them an iteration computes; of each loop.
std::string vectorsOf(const cpu::NestSummary& n) {
  std::vector<std::string> all;
  for (const cpu::NestVectors& v : n.vectors)
    all.push_back(v.perIteration == 1 ? std::to_string(v.lanes) : fmt::format("{} x {}", v.perIteration, v.lanes));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string prefetchOf(const cpu::NestSummary& n) {
  return n.prefetchRows == 0 ? "-" : fmt::format("{} rows to L{}", n.prefetchRows, n.prefetchLevel);
}

std::string notesOf(const cpu::NestSummary& n) {
  std::vector<std::string> notes;
  if (n.sharedRows) notes.push_back(fmt::format("threads share groups of {} rows", n.sharedRows));
  if (n.skipsRows) notes.push_back("skips masked rows");
  if (n.readsRowsInPlace) notes.push_back("rows read in place if the mask keeps all");
  if (n.reciprocals > 0)
    notes.push_back(fmt::format("{} reciprocal{} of divisors", n.reciprocals, n.reciprocals == 1 ? "" : "s"));
  return orDash(fmt::format("{}", fmt::join(notes, "; ")));
}

/// The values that a nest materialises for others.
std::string valuesOf(const cpu::NestSummary& n) {
  std::vector<std::string> all;
  for (const cpu::NestValue& v : n.values)
    all.push_back(fmt::format("{} {}[{}]{}", v.op, name(v.dtype), fmt::join(v.shape, ","),
                              v.reusesBuffer ? " (in a reused buffer)" : ""));
  return all.empty() ? "-" : fmt::format("{}", fmt::join(all, ", "));
}
Json valuesJson(const cpu::NestSummary& n) {
  Json all = Json::array();
  for (const cpu::NestValue& v : n.values)
    all.push_back({{"op", v.op}, {"dtype", name(v.dtype)}, {"shape", v.shape}, {"reuses_buffer", v.reusesBuffer}});
  return all;
}

/// "f32[8,?]"
std::string typeText(const cpu::CopySummary& c) {
  std::vector<std::string> sizes;
  for (const int64_t size : c.shape) sizes.push_back(size == kDynamicSize ? "?" : std::to_string(size));
  return fmt::format("{}[{}]", name(c.dtype), fmt::join(sizes, ","));
}
std::string notesOf(const cpu::CopySummary& c) {
  std::vector<std::string> notes;
  if (c.isRemote) notes.push_back("to another device");
  if (c.isPacked) notes.push_back("elements of another width");
  return orDash(fmt::format("{}", fmt::join(notes, "; ")));
}
Json sizesJson(const Shape& shape) {
  Json all = Json::array();
  for (const int64_t size : shape) all.push_back(size == kDynamicSize ? Json(nullptr) : Json(size));
  return all;
}

Json divisionJson(const cpu::GemvDotPlan& p) {
  return {{"rows_of_a", p.rowsOfA},     {"rows_of_b", p.rowsOfB}, {"consecutive_rows_of_b", p.consecutiveRowsOfB},
          {"a_in_registers", p.holdsA}, {"lanes", p.lanes},       {"staged_columns", p.stagedColumns},
          {"part_of_k", p.partOfK}};
}
Json divisionJson(const cpu::DotTilesPlan& p) {
  return {{"columns", p.columns}, {"a_in_registers", p.holdsA}, {"prefetches_l1", p.prefetchesL1}};
}
Json divisionJson(const cpu::GemvAxpyPlan& p) {
  return {{"sums_in_registers", p.sumsInRegisters},
          {"rows_of_b", p.rowsOfB},
          {"consecutive_rows_of_b", p.consecutiveRowsOfB},
          {"pass_columns", p.passColumns},
          {"cached_columns", p.cachedColumns}};
}
Json divisionJson(const cpu::SkinnyTilesPlan& p) {
  return {{"tile", {p.tileRows, p.tileColumns}},
          {"streams", p.streams},
          {"group_rows", p.groupRows},
          {"panel_columns", p.panelColumns},
          {"prefetched_rows", p.prefetchedRows}};
}
Json divisionJson(const cpu::PackedPlan&) { return nullptr; }

std::string notesOf(const cpu::ProductSummary& p) {
  std::string notes;
  if (p.shape.transposedA) notes += ", A transposed";
  if (p.shape.transposedB) notes += ", B transposed";
  if (p.isInPlace) notes += p.storesAdded ? ", added to its store's memory" : ", in its store's memory";
  if (p.rowsOfChunk > 0) notes += fmt::format(", needed rows only, in chunks of {}", p.rowsOfChunk);
  return notes;
}

Json vectorsJson(const cpu::NestSummary& n) {
  Json all = Json::array();
  for (const cpu::NestVectors& v : n.vectors) all.push_back({{"lanes", v.lanes}, {"per_iteration", v.perIteration}});
  return all;
}

Json productJson(const cpu::ProductSummary& p) {
  const cpu::GemmShape& s = p.shape;
  Json row{{"position", p.position},
           {"within", p.within},
           {"m", s.m},
           {"n", s.n},
           {"k", s.k},
           {"dtypes", {name(s.a), name(s.b), name(s.c)}},
           {"transposed", {s.transposedA, s.transposedB}},
           {"copied", {p.copiesA, p.copiesB}},
           {"accumulates", s.accumulate},
           {"in_place", p.isInPlace},
           {"stores_added", p.storesAdded},
           {"rows_of_chunk", p.rowsOfChunk},
           {"strategy", name(p.strategy())}};
  if (p.isSkinny()) {
    row.update({{"blocks", p.blocksOfB},
                {"streams", p.streams},
                {"interleaves", p.interleaves},
                {"bf16_pairs", p.bf16Pairs},
                {"widens_a", p.widensA},
                {"prefetched_rows", {p.prefetch.acrossSteps, p.prefetch.withinBlock}},
                {"division", std::visit([](const auto& division) { return divisionJson(division); }, p.division)}});
    return row;
  }
  const cpu::GemmPlan& gemm = p.packed().gemm;
  row.update({{"tile", {gemm.tileRows, gemm.tileColumns}},
              {"blocks", {gemm.blockRows, gemm.blockColumns, gemm.blockDepth}},
              {"packs_a", gemm.packsA},
              {"packs_b", name(p.packed().packsB)},
              {"caches_packed_b", s.cachesPackedB},
              {"adds_row", s.addsRow},
              {"shared_rows", p.packed().shared ? p.packed().shared->rows : 0},
              {"workspace_bytes", gemm.packedBytes}});
  return row;
}

}  // namespace

std::string planText(const cpu::KernelPlan& plan) {
  const auto lines = [](const std::vector<std::string>& all) { return fmt::format("{}", fmt::join(all, ", ")); };
  std::string text;
  text += fmt::format("  rewrites: {}\n", plan.rewrites.empty() ? "none" : lines(plan.rewrites));
  text += fmt::format("  grid axes that threads share: {}{}\n", plan.grid.sharedAxes,
                      plan.sequentialReason.empty() ? "" : "; " + plan.sequentialReason);
  if (!plan.grid.blocks.empty()) {
    term::Table table({{"operand"}, {"access"}, {"notes"}});
    for (size_t i = 0; i < plan.grid.blocks.size(); ++i)
      table.add({plan.blockNames.at(i), std::string(name(plan.grid.blocks[i].access)),
                 notesOf(plan.grid.blocks[i], plan.locality[i])});
    text += "\n" + table.str(false, 2);
  }
  if (!plan.products.empty()) {
    term::Table table({{"", term::Align::right}, {"products"}, {"within"}});
    for (const cpu::ProductSummary& p : plan.products)
      table.add({std::to_string(p.position), cpu::text(p) + notesOf(p), orDash(p.within)});
    text += "\n" + table.str(false, 2);
  }
  if (!plan.nests.empty()) {
    term::Table table({{"", term::Align::right},
                       {"loop nests"},
                       {"within"},
                       {"rows"},
                       {"columns", term::Align::right},
                       {"ops", term::Align::right},
                       {"phases", term::Align::right},
                       {"row block", term::Align::right},
                       {"buffered", term::Align::right},
                       {"prefetch"},
                       {"last phase"},
                       {"vectors"},
                       {"stores", term::Align::right},
                       {"values to memory"},
                       {"notes"}});
    for (const cpu::NestSummary& n : plan.nests)
      table.add({std::to_string(n.position), n.segment == 0 ? "one value" : fmt::format("segment {}", n.segment),
                 orDash(n.within), n.rows.empty() ? "-" : fmt::format("{}", fmt::join(n.rows, "x")),
                 std::to_string(n.columns), std::to_string(n.ops.size()), std::to_string(n.phases),
                 std::to_string(n.rowBlock), std::to_string(n.bufferedValues), prefetchOf(n),
                 n.pipelinesLastPhase ? "pipelined" : "-", vectorsOf(n), std::to_string(n.stores), valuesOf(n),
                 notesOf(n)});
    text += "\n" + table.str(false, 2);
  }
  if (!plan.copies.empty()) {
    term::Table table({{"", term::Align::right}, {"copies"}, {"within"}, {"notes"}});
    for (const cpu::CopySummary& c : plan.copies)
      table.add({std::to_string(c.position), typeText(c), orDash(c.within), notesOf(c)});
    text += "\n" + table.str(false, 2);
  }
  if (!plan.interpreted.empty()) {
    term::Table table({{"", term::Align::right}, {"interpreted"}, {"within"}});
    for (const cpu::InterpretedOp& op : plan.interpreted)
      table.add({std::to_string(op.position), op.name, orDash(op.within)});
    text += "\n" + table.str(false, 2);
  }
  return text;
}

Json planJson(const cpu::KernelPlan& plan) {
  Json operands = Json::array(), products = Json::array(), nests = Json::array(), copies = Json::array(),
       interpreted = Json::array();
  for (size_t i = 0; i < plan.grid.blocks.size(); ++i) {
    const cpu::BlockPlan& b = plan.grid.blocks[i];
    const cpu::BlockLocality& locality = plan.locality[i];
    Json row{{"operand", plan.blockNames.at(i)}, {"access", name(b.access)},
             {"partial", b.isPartial},           {"checked_dimensions", b.maybeOutside},
             {"tracks_block", b.tracksBlock},    {"prefetches_next", locality.prefetchesNext},
             {"in_dram", locality.isInDram},     {"non_temporal", locality.isNonTemporal}};
    row["padded"] = b.isPadded;
    row["same_memory"] = b.sameMemory ? Json(*b.sameMemory) : Json(nullptr);
    row["reuse_dimensions"] = locality.reuse ? Json(*locality.reuse) : Json(nullptr);
    operands.push_back(std::move(row));
  }
  for (const cpu::ProductSummary& p : plan.products) products.push_back(productJson(p));
  for (const cpu::CopySummary& c : plan.copies)
    copies.push_back({{"position", c.position},
                      {"within", c.within},
                      {"dtype", name(c.dtype)},
                      {"shape", sizesJson(c.shape)},
                      {"remote", c.isRemote},
                      {"packed", c.isPacked}});
  for (const cpu::InterpretedOp& op : plan.interpreted)
    interpreted.push_back({{"position", op.position}, {"within", op.within}, {"op", op.name}});
  for (const cpu::NestSummary& n : plan.nests)
    nests.push_back({{"position", n.position},
                     {"within", n.within},
                     {"segment", n.segment},
                     {"rows", n.rows},
                     {"columns", n.columns},
                     {"ops", n.ops},
                     {"phases", n.phases},
                     {"row_block", n.rowBlock},
                     {"pipelines_last_phase", n.pipelinesLastPhase},
                     {"prefetch_rows", n.prefetchRows},
                     {"prefetch_level", n.prefetchLevel},
                     {"buffered_values", n.bufferedValues},
                     {"vectors", vectorsJson(n)},
                     {"values", valuesJson(n)},
                     {"stores", n.stores},
                     {"reductions", n.reductions},
                     {"shared_rows", n.sharedRows},
                     {"skips_masked_rows", n.skipsRows},
                     {"reads_masked_rows_in_place", n.readsRowsInPlace},
                     {"reciprocals", n.reciprocals}});
  return {{"rewrites", plan.rewrites},
          {"shared_axes", plan.grid.sharedAxes},
          {"shared_order", plan.grid.sharedOrder},
          {"written", plan.grid.written},
          {"in_order", plan.sequentialReason},
          {"fastest_axis", plan.grid.fastestAxis},
          {"operands", std::move(operands)},
          {"products", std::move(products)},
          {"nests", std::move(nests)},
          {"copies", std::move(copies)},
          {"interpreted", std::move(interpreted)}};
}

}  // namespace smalti::driver
