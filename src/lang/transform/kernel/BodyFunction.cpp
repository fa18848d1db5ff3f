#include "lang/transform/kernel/BodyFunction.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/devices/MeshAround.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Custom.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
/// Orders what happens, and changes no value.
bool isSilent(const Op& op) {
  return isOneOf(op.name, {"dma_wait", "touch", "semaphore_signal", "semaphore_wait", "barrier_semaphore",
                           "debug_print", "debug_check", "delay", "trace_start", "trace_stop", "trace_value"});
}
bool isMemory(const Op& op) {
  return isOneOf(op.name, {"get", "swap", "ref_slice", "ref_reshape", "ref_bitcast", "select_ref", "dma_start",
                           "empty_ref", "run_scoped"});
}
bool isControl(const Op& op) { return isOneOf(op.name, {"if", "for", "while", "custom_function"}); }

std::string refusalReason(const TracedFunction& f, const Op& op, bool wide) {
  const auto flag = [&](const char* name) {
    const Attribute* a = op.find(name);
    return a && std::get<bool>(*a);
  };
  if (op.name == "dma_start" && flag("remote")) return "it copies to other devices";
  if (op.name == "semaphore_signal" && op.operands.size() > 2) return "it signals to other devices";
  if (op.name == "device_id" && meshAround().empty()) return "it runs on several devices without a shard_map";
  if (op.name == "ref_bitcast" &&
      bit_width(f.function.values[op.operands[0]].dtype) != bit_width(f.function.values[op.results[0]].dtype))
    return "it reads memory as elements of another width";
  if (wide && isOneOf(op.name, {"bitcast", "bitcast_convert", "ref_bitcast"}))
    for (const ValueId v : {op.operands[0], op.results[0]})
      if (is_float(f.function.values[v].dtype)) return "it uses the bits of a float";
  if (const Attribute* index = op.find("index"))
    for (const AxisIndex& a : decodeIndex(std::get<std::vector<int64_t>>(*index)))
      if (a.dynamicSize) return "it copies slices of computed size";
  if (isSilent(op) || isMemory(op) || isControl(op)) return "";
  if (isOneOf(op.name, {"constant", "return", "program_id", "num_programs", "device_id"})) return "";
  if (op.name == "atomic") return "it updates memory atomically";
  const OpRecord& record = *findOp(op.name);
  if (!evaluatorOf(record) && !record.expand) return fmt::format("it uses {}", record.shownName());
  return "";
}

std::string firstReason(const TracedFunction& f, const std::vector<Op>& ops, bool wide) {
  for (const Op& op : ops) {
    std::string why = refusalReason(f, op, wide);
    for (size_t i = 0; why.empty() && i < op.regions.size(); ++i) why = firstReason(f, op.regions[i].ops, wide);
    if (!why.empty()) return why;
  }
  return "";
}

ArrayType widened(ArrayType type) {
  if (is_float(type.dtype)) type.dtype = DType::f64;
  return type;
}

}  // namespace

std::string whyNoFunction(const TracedFunction& f, bool wide) { return firstReason(f, f.function.ops, wide); }

BodyFunction::BodyFunction(const TracedFunction& traced, Options options)
    : traced_(traced),
      options_(std::move(options)),
      values_(traced.function.values.size()),
      views_(values_.size()),
      roots_(values_.size()) {
  for (const ValueId v : traced.function.arguments)
    if (traced.refs[v]) roots_[v] = {v};
}

void BodyFunction::share(ValueId ref, ValueId as) {
  roots_[ref] = {as};
  views_[ref].of = {as};
}

void BodyFunction::findRoots(const std::vector<Op>& list) {
  for (const Op& op : list) {
    for (const Block& block : op.regions) {
      for (const ValueId v : block.arguments)
        if (traced_.refs[v]) roots_[v] = {v};
      findRoots(block.ops);
    }
    for (const ValueId v : op.results) {
      if (!traced_.refs[v]) continue;
      for (const ValueId of : op.operands) roots_[v].insert(roots_[v].end(), roots_[of].begin(), roots_[of].end());
      if (op.name == "empty_ref") roots_[v] = {v};
    }
  }
}

std::vector<Array> BodyFunction::run(Memory& memory) {
  findRoots(traced_.function.ops);
  memory_ = std::move(memory);
  Arrays results = ops(traced_.function.ops);
  memory = std::move(memory_);
  return results;
}

ArrayType BodyFunction::typeOf(ValueId v) const {
  const ArrayType& type = traced_.function.values[v];
  return options_.wide ? widened(type) : type;
}
std::vector<ArrayType> BodyFunction::typesOf(std::span<const ValueId> ids) const {
  std::vector<ArrayType> types;
  for (const ValueId v : ids) types.push_back(typeOf(v));
  return types;
}
std::vector<Array> BodyFunction::arrays(std::span<const ValueId> ids) const {
  Arrays list;
  for (const ValueId v : ids) list.push_back(values_[v]);
  return list;
}

std::vector<Array> BodyFunction::ops(const std::vector<Op>& list) {
  for (const Op& op : list) {
    if (op.name == "return") return arrays(op.operands);
    const RecordedLocationScope place(op.place);
    one(op);
  }
  return {};
}

void BodyFunction::one(const Op& op) {
  if (isSilent(op)) return;
  if (op.name == "constant") {
    const Array& value = std::get<Array>(*op.find("value"));
    values_[op.results[0]] = convertTo(value, typeOf(op.results[0]).dtype);
  } else if (op.name == "program_id" || op.name == "num_programs") {
    const auto axis = static_cast<size_t>(std::get<int64_t>(*op.find("axis")));
    values_[op.results[0]] = (op.name == "program_id" ? options_.grid : options_.gridSizes).at(axis);
  } else if (op.name == "device_id") {
    values_[op.results[0]] = convertTo(deviceNumber(), DType::i32);
  } else if (op.name == "get" || op.name == "swap") {
    access(op, op.name == "swap");
  } else if (op.name == "dma_start") {
    write(op.operands[1], read(op.operands[0]));
  } else if (op.name == "empty_ref") {
    allocate(op.results[0]);
  } else if (isMemory(op) && op.name != "run_scoped") {
    view(op);
  } else if (op.name == "run_scoped") {
    scoped(op);
  } else if (op.name == "if") {
    branch(op);
  } else if (op.name == "for" || op.name == "while") {
    loop(op, op.name == "for" ? 2 : 0);
  } else {
    plain(op);
  }
}

void BodyFunction::plain(const Op& op) {
  const Arrays operands = arrays(op.operands);
  const std::vector<ArrayType> results = typesOf(op.results);
  OpCall call{*findOp(op.name), operands, results, op.attributes};
  if (const Attribute* custom = op.find("custom")) call.custom = traced_.customs[std::get<int64_t>(*custom)];
  const Arrays made = Tracer::current().bind(std::move(call));
  for (size_t i = 0; i < made.size(); ++i) values_[op.results[i]] = made[i];
}

PartOf BodyFunction::part(const Op& op, size_t numStarts) const {
  PartOf p{.axes = {}, .starts = {}, .type = typeOf(op.results[0])};
  if (op.name == "ref_reshape") p.kind = PartOf::Kind::reshape;
  if (op.name == "ref_bitcast") p.kind = PartOf::Kind::bitcast;
  if (const Attribute* index = op.find("index")) p.axes = decodeIndex(std::get<std::vector<int64_t>>(*index));
  for (size_t i = 1; i <= numStarts; ++i) p.starts.push_back(values_[op.operands[i]]);
  return p;
}

void BodyFunction::view(const Op& op) {
  View& v = views_[op.results[0]];
  if (op.name == "select_ref") {
    v.which = values_[op.operands[0]];
    v.of.assign(op.operands.begin() + 1, op.operands.end());
    return;
  }
  v.part = part(op, op.operands.size() - 1);
  v.of = {op.operands[0]};
}

Array BodyFunction::read(ValueId ref) const {
  const View& v = views_[ref];
  if (v.part) return readPart(read(v.of[0]), *v.part);
  if (v.of.empty()) return memory_.at(ref);
  Array value = read(v.of.back());
  for (size_t k = v.of.size() - 1; k-- > 0;) value = where(v.which == static_cast<int>(k), read(v.of[k]), value);
  return value;
}

void BodyFunction::write(ValueId ref, const Array& value) {
  const View& v = views_[ref];
  if (v.part) return write(v.of[0], withPart(read(v.of[0]), *v.part, value));
  if (v.of.empty()) {
    memory_[ref] = value;
    return;
  }
  if (v.of.size() == 1) return write(v.of[0], value);
  const int last = static_cast<int>(v.of.size()) - 1;
  for (int k = 0; k <= last; ++k) {
    // The last one for every other index, as the kernel's code does.
    const Array isChosen = k == last ? v.which >= k || v.which < 0 : v.which == k;
    write(v.of[k], where(isChosen, value, read(v.of[k])));
  }
}

void BodyFunction::access(const Op& op, bool writes) {
  const bool masked = op.find("masked") != nullptr;
  const size_t numStarts = op.operands.size() - 1 - (writes ? 1 : 0) - (masked ? 1 : 0);
  const PartOf p = part(op, numStarts);
  const ValueId ref = op.operands[0];
  const Array whole = read(ref);
  values_[op.results[0]] = readPart(whole, p);
  if (!writes) return;
  Array value = values_[op.operands[numStarts + 1]];
  if (masked) value = where(values_[op.operands[numStarts + 2]], value, values_[op.results[0]]);
  write(ref, withPart(whole, p, value));
}

void BodyFunction::allocate(ValueId ref) {
  const ArrayType type = typeOf(ref);
  if (!is_semaphore(type.dtype)) memory_[ref] = zeros(type.shape, type.dtype);
}

void BodyFunction::scoped(const Op& op) {
  for (const ValueId ref : op.regions[0].arguments) allocate(ref);
  const Arrays made = ops(op.regions[0].ops);
  for (size_t i = 0; i < made.size(); ++i) values_[op.results[i]] = made[i];
}

void BodyFunction::noteWritten(const std::vector<Op>& list, std::vector<ValueId>& roots) const {
  for (const Op& op : list) {
    const ValueId target = op.name == "swap" ? op.operands[0] : op.name == "dma_start" ? op.operands[1] : -1;
    if (target >= 0)
      for (const ValueId root : roots_[target])
        if (memory_.count(root) && std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
    for (const Block& block : op.regions) noteWritten(block.ops, roots);
  }
}

std::vector<ValueId> BodyFunction::writtenIn(std::span<const Block> regions) const {
  std::vector<ValueId> roots;
  for (const Block& block : regions) noteWritten(block.ops, roots);
  return roots;
}

/// The block's results, and the memory that it wrote; the surrounding memory does not change.
std::vector<Array> BodyFunction::inRegion(const Block& block, std::span<const ValueId> roots,
                                          std::span<const Array> state) {
  const Memory before = memory_;
  for (size_t i = 0; i < state.size(); ++i) memory_[roots[i]] = state[i];
  Arrays results = ops(block.ops);
  for (const ValueId root : roots) results.push_back(memory_.at(root));
  memory_ = before;
  return results;
}

void BodyFunction::settle(const Op& op, std::span<const ValueId> roots, const Arrays& made) {
  const size_t n = op.results.size();
  for (size_t i = 0; i < n; ++i) values_[op.results[i]] = made[i];
  for (size_t i = 0; i < roots.size(); ++i) memory_[roots[i]] = made[n + i];
}

void BodyFunction::branch(const Op& op) {
  const std::vector<ValueId> roots = writtenIn(op.regions);
  std::vector<ArrayType> types = typesOf(op.results);
  for (const ValueId root : roots) types.push_back(memory_.at(root).type());
  std::vector<Region> regions;
  for (const Block& block : op.regions)
    regions.push_back({{}, [&](std::span<const Array>) { return inRegion(block, roots, {}); }});
  settle(op, roots, bindRegions(*findOp(op.name), arrays(op.operands), types, regions, {}, op.attributes));
}

/// Carries follow the bounds; the body is the last region, and takes an index first where there are bounds.
void BodyFunction::loop(const Op& op, size_t numBounds) {
  const std::vector<ValueId> roots = writtenIn(op.regions);
  Arrays operands = arrays(op.operands);
  for (const ValueId root : roots) operands.push_back(memory_.at(root));
  std::vector<ArrayType> types;
  for (size_t i = numBounds; i < operands.size(); ++i) types.push_back(operands[i].type());
  std::vector<Region> regions;
  for (const Block& block : op.regions) {
    const bool isCondition = op.regions.size() == 2 && &block == &op.regions[0];
    const size_t first = numBounds == 0 ? 0 : 1;
    std::vector<ArrayType> arguments = types;
    if (first) arguments.insert(arguments.begin(), {DType::i32, {}});
    regions.push_back({arguments, [&, isCondition](std::span<const Array> inside) {
                         const size_t n = block.arguments.size();
                         for (size_t i = 0; i < n; ++i) values_[block.arguments[i]] = inside[i];
                         Arrays results = inRegion(block, roots, inside.subspan(n));
                         if (isCondition) results.resize(1);
                         return results;
                       }});
  }
  settle(op, roots, bindRegions(*findOp(op.name), operands, types, regions, {}, op.attributes));
}

}  // namespace smalti::lang
