#include "interop/bytecode/ParseOps.h"

#include <fmt/format.h>

#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {
namespace {

class OpParser {
 public:
  OpParser(Cursor c, const BodyModel& model) : c_(c), model_(model) {}

  OpRecord op(int depth) {
    OpRecord r;
    r.offset = c_.offset();
    r.name = c_.index("an op name", model_.opNames.size());
    const uint8_t mask = c_.byte("an op's parts");
    if (mask & kHasSuccessors)
      c_.fail("SM2107", fmt::format("'{}' branches to another block", model_.opNames[r.name].name),
              "structured control flow (scf.if, scf.for, scf.while)");
    else if (mask & ~knownParts())
      c_.fail("SM2101", "an op has parts that this container version does not have", {}, fmt::format("{:#x}", mask));
    r.location = c_.index("a location", model_.attributes.size());
    if (mask & kHasAttributes) r.attributes = c_.index("an attribute dictionary", model_.attributes.size());
    if (mask & kHasProperties) r.properties = c_.index("properties", model_.properties.size());
    if (mask & kHasResults) {
      r.resultTypes.resize(c_.count("results"));
      for (uint32_t& t : r.resultTypes) t = c_.index("a type", model_.types.size());
    }
    if (mask & kHasOperands) {
      r.operands.resize(c_.count("operands"));
      for (uint64_t& o : r.operands) o = c_.varint("an operand");
    }
    if (mask & kHasUseListOrders) useListOrders(r.resultTypes.size());
    if (mask & kHasRegions) regions(r, depth);
    return r;
  }
  void expectEnd(const char* what) { c_.expectEnd(what); }

 private:
  uint8_t knownParts() const {
    uint8_t parts = kHasAttributes | kHasResults | kHasOperands | kHasRegions;
    if (model_.version >= kUseListOrders) parts |= kHasUseListOrders;
    if (model_.version >= kProperties) parts |= kHasProperties;
    return parts;
  }

  /// The order of uses of values, which is irrelevant here.
  void useListOrders(uint64_t values) {
    const uint64_t n = values > 1 ? c_.count("orders of uses") : 1;
    for (uint64_t i = 0; i < n && c_.ok(); ++i) {
      if (values > 1) c_.varint("a value");
      const uint64_t sizeAndFlag = c_.varint("an order of uses");
      for (uint64_t k = 0; k < sizeAndFlag >> 1 && c_.ok(); ++k) c_.varint("a use");
    }
  }

  void regions(OpRecord& r, int depth) {
    const uint64_t countAndFlag = c_.varint("an op's regions");
    r.isolated = (countAndFlag & 1) != 0;
    const uint64_t n = countAndFlag >> 1;
    if (c_.ok() && n > c_.remaining())
      c_.fail("SM2101", fmt::format("the {} has too few bytes left for an op's regions", c_.state().what()), {},
              fmt::format("{} regions", n));
    if (c_.ok() && depth >= kMaxRegionDepth)
      c_.fail("SM2106", "ops are nested too deeply", fmt::format("at most {} levels", kMaxRegionDepth));
    const bool inSection = n > 0 && r.isolated && model_.version >= kIsolatedSections;
    if (!inSection) {
      regions(r, n, depth);
      return;
    }
    OpParser inner(section(), model_);  // one section holds all regions of the op
    inner.regions(r, n, depth);
    inner.expectEnd("the section of an op's regions");
  }
  void regions(OpRecord& r, uint64_t count, int depth) {
    for (uint64_t i = 0; i < count && c_.ok(); ++i) r.regions.push_back(region(depth + 1));
  }

  Cursor section() {
    const uint8_t id = c_.byte("a section's code");
    if (c_.ok() && id != static_cast<uint8_t>(Section::Ir))
      c_.fail("SM2101", "a region's section is of another kind", "4", fmt::format("{}", id));
    const uint64_t size = c_.varint("a section's size");
    const uint64_t offset = c_.offset();
    return {c_.state(), c_.take(size, "a region"), offset};
  }

  RegionRecord region(int depth) {
    RegionRecord r;
    const uint64_t blocks = c_.varint("a region's blocks");
    if (blocks == 0) return r;
    if (blocks != 1)
      c_.fail("SM2107", "a region has control flow between blocks", "one block", fmt::format("{} blocks", blocks));
    r.empty = false;
    r.numValues = c_.varint("a region's number of values");
    const uint64_t opsAndFlag = c_.varint("a block's ops");
    uint64_t values = 0;
    if (opsAndFlag & 1) {
      const bool mayLackPlace = model_.version >= kArgumentsWithoutPlace;
      r.arguments.resize(c_.count("block arguments", mayLackPlace ? 1 : 2));
      values = r.arguments.size();
      for (BlockArgument& a : r.arguments) {
        const uint64_t typeAndFlag = mayLackPlace ? c_.varint("a type") : 1;
        a.type = mayLackPlace ? checkedType(typeAndFlag >> 1) : c_.index("a type", model_.types.size());
        a.location = typeAndFlag & 1 ? c_.index("a location", model_.attributes.size()) : kNoPlace;
      }
      if (model_.version >= kUseListOrders && c_.byte("orders of uses") != 0) useListOrders(values);
    }
    for (uint64_t i = 0; i < opsAndFlag >> 1 && c_.ok(); ++i) {
      r.ops.push_back(op(depth));
      values += r.ops.back().resultTypes.size();
    }
    if (c_.ok() && values != r.numValues)
      c_.fail("SM2101", "a region declares a different number of values than it has", fmt::format("{}", values),
              fmt::format("{}", r.numValues));
    return r;
  }

  uint32_t checkedType(uint64_t index) {
    if (index < model_.types.size()) return static_cast<uint32_t>(index);
    c_.fail("SM2101", fmt::format("the {} refers to a type it does not have", c_.state().what()),
            fmt::format("an index below {}", model_.types.size()), fmt::format("{}", index));
    return 0;
  }

  Cursor c_;
  const BodyModel& model_;
};

}  // namespace

void parseOps(Cursor c, BodyModel& model) {
  const uint64_t opsAndFlag = c.varint("the body's ops");
  if (c.ok() && opsAndFlag != 1 << 1)
    c.fail("SM2101", fmt::format("the {} does not hold exactly one module", c.state().what()), "1 op",
           fmt::format("{} ops", opsAndFlag >> 1));
  OpParser parser(c, model);
  if (c.ok()) model.root = parser.op(0);
  parser.expectEnd("the op section");
}

}  // namespace smalti::interop::bytecode
