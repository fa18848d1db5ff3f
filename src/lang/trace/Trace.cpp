#include "lang/trace/Trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/lower/DialectLowering.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Custom.h"

namespace smalti::lang {
namespace {

constexpr OpTable kTraceOps{
    OpRecord{.name = "constant", .lower = lowerConstant},
    OpRecord{.name = "return", .types = noResults},
};
const OpFamily kTraceFamily(kTraceOps);

struct RecordedValue : TracedValue {
  ValueId value;
};

}  // namespace

Trace::Trace(std::string what, Kind kind) : what_(std::move(what)), kind_(kind) {
  open_.push_back({blocks_++, &traced_.function.ops});
}

ValueId Trace::newValue(ArrayType type, std::optional<MemorySpace> space) {
  const auto id = static_cast<ValueId>(traced_.function.values.size());
  traced_.function.values.push_back(std::move(type));
  traced_.refs.push_back(space);
  blockOf_.push_back(open_.back().id);
  return id;
}

Array Trace::tracer(ValueId v) {
  return Array::traced(traced_.function.values[v], std::make_shared<RecordedValue>(RecordedValue{{serial_}, v}));
}

Ref Trace::ref(ValueId v) {
  return Ref(
      std::make_shared<detail::RefNode>(detail::RefNode{serial_, v, traced_.function.values[v], *traced_.refs[v]}));
}

Array Trace::addArgument(ArrayType type) {
  const ValueId v = newValue(std::move(type), std::nullopt);
  traced_.function.arguments.push_back(v);
  return tracer(v);
}

Ref Trace::addRefArgument(ArrayType type, MemorySpace space) {
  const ValueId v = newValue(std::move(type), space);
  traced_.function.arguments.push_back(v);
  return ref(v);
}

void Trace::push(const OpRecord& op, std::vector<ValueId> operands, std::vector<ValueId> results, Attributes attributes,
                 std::vector<Block> regions) {
  open_.back().ops->push_back({.name = std::string(op.name),
                               .operands = std::move(operands),
                               .results = std::move(results),
                               .attributes = std::move(attributes),
                               .regions = std::move(regions),
                               .callee = {},
                               .place = currentPlace()});
}

bool Trace::isOpen(uint64_t trace, ValueId value) const {
  return trace == serial_ &&
         std::any_of(open_.begin(), open_.end(), [&](const Open& block) { return block.id == blockOf_[value]; });
}

SourcePlace Trace::placeOfValue(ValueId value) const {
  std::vector<const std::vector<Op>*> lists{&traced_.function.ops};
  while (!lists.empty()) {
    const std::vector<Op>& ops = *lists.back();
    lists.pop_back();
    for (const Op& op : ops) {
      if (std::ranges::count(op.results, value)) return op.place;
      for (const Block& block : op.regions) lists.push_back(&block.ops);
    }
  }
  return {};
}

std::vector<Array> Trace::record(const OpRecord& op, std::vector<ValueId> operands, std::span<const ArrayType> results,
                                 Attributes attributes, std::vector<Block> regions) {
  std::vector<ValueId> ids;
  std::vector<Array> arrays;
  for (const ArrayType& type : results) {
    const bool wide = type.dtype == DType::i64 || type.dtype == DType::u64 || type.dtype == DType::f64;
    if (wide && kind_ == Kind::kernel)
      refuse({.code = "SM6219",
              .message = fmt::format("64-bit types are not supported: '{}' gives {}", op.name, type.str()),
              .place = {},
              .need = "a dtype of at most 32 bits",
              .have = type.str(),
              .help = "compute in i32 or f32"});
    ids.push_back(newValue(type, std::nullopt));
    arrays.push_back(tracer(ids.back()));
  }
  push(op, std::move(operands), std::move(ids), std::move(attributes), std::move(regions));
  return arrays;
}

std::vector<Array> Trace::bind(OpCall call) {
  if (call.kernel) return recordKernel(call);
  if (call.custom) {
    if (kind_ == Kind::program) return call.custom->run(call.operands);
    traced_.customs.push_back(call.custom);
    const Attributes custom{{"custom", static_cast<int64_t>(traced_.customs.size()) - 1}};
    if (kind_ == Kind::function) return record(call.op, use(call.operands), call.results, custom);
    // In a kernel the op also holds the function's ops, for targets that run them.
    std::vector<ArrayType> types;
    std::vector<Block> region;
    region.push_back(block({}, [&](std::span<const Array>) {
      std::vector<Array> results = call.custom->run(call.operands);
      for (const Array& r : results) types.push_back(r.type());
      return results;
    }));
    return record(call.op, use(call.operands), types, custom, std::move(region));
  }
  if (kind_ == Kind::program && !isPlainOp(call.op) && !call.op.inPrograms) {
    if (call.op.expand) return call.op.expand(call);
    refuse({.code = "SM6106",
            .message = fmt::format("'{}' cannot be in a program", call.op.shownName()),
            .place = {},
            .need = "an op that StableHLO has, or that is made of such ops",
            .have = std::string(call.op.shownName()),
            .help = "call it inside a kernel, or on arrays outside the function that is traced"});
  }
  std::vector<Block> regions;
  regions.reserve(call.regions.size());
  for (const Region& region : call.regions) regions.push_back(block(region.arguments, region.body));
  std::optional<SourceLocationScope> place;
  if (call.at) place.emplace(*call.at);
  return record(call.op, use(call.operands), call.settled ? std::span<const ArrayType>(*call.settled) : call.results,
                std::move(call.attributes), std::move(regions));
}

std::vector<Array> Trace::recordKernel(const OpCall& call) {
  std::vector<Array> results = record(call.op, use(call.operands), call.results);
  const auto known = std::find(traced_.kernels.begin(), traced_.kernels.end(), call.kernel);
  open_.back().ops->back().kernel = static_cast<int>(known - traced_.kernels.begin());
  if (known == traced_.kernels.end()) traced_.kernels.push_back(call.kernel);
  return results;
}

Ref Trace::recordRef(const OpRecord& op, std::vector<ValueId> operands, ArrayType type, MemorySpace space,
                     Attributes attributes) {
  const ValueId v = newValue(std::move(type), space);
  push(op, std::move(operands), {v}, std::move(attributes));
  return ref(v);
}

ValueId Trace::use(const Array& array) {
  if (!array.is_traced()) {
    checkHasValue(array);
    if (array.rank() > 0 && kind_ == Kind::kernel)
      refuse({.code = "SM6104",
              .message = fmt::format("the kernel captures an array constant, {}", array.type().str()),
              .place = {},
              .need = "scalars only; arrays reach a kernel as inputs",
              .help = "pass the array as an input of the pallas_call"});
    const ValueId v = newValue(array.type(), std::nullopt);
    push(kTraceOps["constant"], {}, {v}, {{"value", array}});
    return v;
  }
  const auto& traced = *static_cast<const TracedValue*>(array.tracer().get());
  if (traced.tracer != serial_) {
    if (kind_ == Kind::function) return capture(array);
    refuse({.code = "SM6105",
            .message =
                fmt::format("a traced value {} is used in {}, to which it does not belong", array.type().str(), what_),
            .place = {},
            .help = kind_ == Kind::kernel
                        ? "pass the value as an input of the pallas_call"
                        : "pass the value as an argument, or return it from the function it belongs to"});
  }
  const ValueId value = static_cast<const RecordedValue&>(traced).value;
  if (!isOpen(traced.tracer, value))
    refuse({.code = "SM6105",
            .message =
                fmt::format("a traced value {} is used after the block that computed it has ended", array.type().str()),
            // What a function returns is used where no op is called.
            .place = currentPlace().known() ? currentPlace() : placeOfValue(value),
            .help = "return the value from the loop or branch (as a carry or result), or write it to a Ref"});
  return value;
}

ValueId Trace::capture(const Array& array) {
  for (size_t i = 0; i < captures_.size(); ++i)
    if (captures_[i].tracer() == array.tracer()) return capturedAs_[i];
  const ValueId v = newValue(array.type(), std::nullopt);
  blockOf_[v] = open_[0].id;
  traced_.function.arguments.push_back(v);
  captures_.push_back(array);
  capturedAs_.push_back(v);
  return v;
}

ValueId Trace::use(const Ref& ref) {
  const auto& node = ref.node();
  if (!node || !isOpen(node->trace, node->value))
    refuse({.code = "SM6105",
            .message = node ? "a Ref is used outside the kernel or scope it belongs to" : "an empty Ref is used",
            .place = {},
            .help = "use a Ref only inside the kernel or run_scoped that it was passed to"});
  return node->value;
}

std::vector<ValueId> Trace::use(std::span<const Array> arrays) {
  std::vector<ValueId> ids;
  ids.reserve(arrays.size());
  for (const Array& a : arrays) ids.push_back(use(a));
  return ids;
}

Block Trace::openBlock(const std::function<std::vector<Array>(Block&)>& body) {
  Block block;
  open_.push_back({blocks_++, &block.ops});
  struct Close {
    std::vector<Open>& open;
    ~Close() { open.pop_back(); }
  } close{open_};
  const std::vector<Array> results = body(block);
  record(kTraceOps["return"], use(results), {});
  return block;
}

Block Trace::block(std::span<const ArrayType> arguments,
                   const std::function<std::vector<Array>(std::span<const Array>)>& body) {
  return openBlock([&](Block& block) {
    std::vector<Array> inside;
    for (const ArrayType& type : arguments) {
      block.arguments.push_back(newValue(type, std::nullopt));
      inside.push_back(tracer(block.arguments.back()));
    }
    return body(inside);
  });
}

Block Trace::refBlock(std::span<const std::pair<ArrayType, MemorySpace>> refs,
                      const std::function<std::vector<Array>(std::span<const Ref>)>& body) {
  return openBlock([&](Block& block) {
    std::vector<Ref> inside;
    for (const auto& [type, space] : refs) {
      block.arguments.push_back(newValue(type, space));
      inside.push_back(ref(block.arguments.back()));
    }
    return body(inside);
  });
}

TracedFunction Trace::finish(std::vector<Array> results) {
  record(kTraceOps["return"], use(results), {});
  for (const Array& a : results) traced_.function.resultTypes.push_back(a.type());
  removeDead(traced_);
  return std::move(traced_);
}

void checkHasValue(const Array& array) {
  if (array.is_traced() || array.data() || array.elements() == 0) return;
  refuse({.code = "SM6118",
          .message = "an Array is used before it has a value",
          .place = {},
          .need = "an array that was assigned",
          .have = "Array()",
          .help = "give it a value first, such as zeros(shape, dtype)"});
}

void checkConcrete(const Array& array) {
  if (array.is_traced())
    refuse({.code = "SM6105",
            .message = fmt::format("a traced value {} is used outside the kernel or function it belongs to",
                                   array.type().str()),
            .place = {},
            .help = "write it to an output Ref of the kernel, or return it from the function that is transformed"});
  checkHasValue(array);
}

}  // namespace smalti::lang
