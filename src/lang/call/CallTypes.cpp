// Members of the types that a call is made of which are not inline: programs that use them compile faster.
#include "smalti/pallas_call.h"

namespace smalti {

IndexArg::IndexArg(const Array& gridIndex) : Array(gridIndex) {}
IndexArg::IndexArg(const Ref& prefetch) : ref_(prefetch) {}
IndexArg::IndexArg(const IndexArg&) = default;
IndexArg& IndexArg::operator=(const IndexArg&) = default;
IndexArg::~IndexArg() = default;

detail::MapEntries::MapEntries() = default;
detail::MapEntries::MapEntries(MapEntries&&) noexcept = default;
detail::MapEntries::~MapEntries() = default;
void detail::MapEntries::add(const Slice& s) { list.emplace_back(s); }
void detail::MapEntries::add(const Operand& v) { list.emplace_back(v); }

IndexMap::IndexMap() = default;
IndexMap::IndexMap(const IndexMap&) = default;
IndexMap::IndexMap(IndexMap&&) noexcept = default;
IndexMap& IndexMap::operator=(const IndexMap&) = default;
IndexMap& IndexMap::operator=(IndexMap&&) noexcept = default;
IndexMap::~IndexMap() = default;
void IndexMap::add(size_t arguments, Call call) { calls_.emplace_back(arguments, std::move(call)); }

BlockSpec::BlockSpec(Location at) : at(at) {}
BlockSpec::BlockSpec(std::vector<BlockDim> block_shape, IndexMap index_map, BlockSpecOptions options, Location at)
    : block_shape(std::move(block_shape)),
      index_map(std::move(index_map)),
      memory_space(options.memory_space),
      pipeline_mode(options.pipeline_mode),
      at(at) {}
BlockSpec::BlockSpec(Space space, Location at) : memory_space(space), at(at) {}
BlockSpec::BlockSpec(const BlockSpec&) = default;
BlockSpec::BlockSpec(BlockSpec&&) noexcept = default;
BlockSpec& BlockSpec::operator=(const BlockSpec&) = default;
BlockSpec& BlockSpec::operator=(BlockSpec&&) noexcept = default;
BlockSpec::~BlockSpec() = default;

GridDim::GridDim(DynamicSize) : at_call(true) {}
GridDim::GridDim(std::string_view name, DynamicSize) : name(name), at_call(true) {}
GridDim::GridDim(const Array& size) : dynamic(size) {}
GridDim::GridDim(std::string_view name, Fixed size) : size(size.size), name(name) {}
GridDim::GridDim(const GridDim&) = default;
GridDim::GridDim(GridDim&&) noexcept = default;
GridDim& GridDim::operator=(const GridDim&) = default;
GridDim& GridDim::operator=(GridDim&&) noexcept = default;
GridDim::~GridDim() = default;

OutShapes::OutShapes() = default;
OutShapes::OutShapes(ShapeDtype one) : std::vector<ShapeDtype>{std::move(one)} {}
OutShapes::OutShapes(std::initializer_list<ShapeDtype> all) : std::vector<ShapeDtype>(all) {}
OutShapes::OutShapes(std::vector<ShapeDtype> all) : std::vector<ShapeDtype>(std::move(all)) {}
OutShapes::OutShapes(const OutShapes&) = default;
OutShapes::OutShapes(OutShapes&&) noexcept = default;
OutShapes& OutShapes::operator=(const OutShapes&) = default;
OutShapes& OutShapes::operator=(OutShapes&&) noexcept = default;
OutShapes::~OutShapes() = default;

CompilerParams::~CompilerParams() = default;
GridSpec::~GridSpec() = default;
Call::~Call() = default;

Kernel::Kernel(const Kernel&) = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(const Kernel&) = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;
void Kernel::add(size_t arguments, Counted call) { calls_.emplace_back(arguments, std::move(call)); }

Results::Results(std::vector<Array> arrays, Location call) : arrays_(std::move(arrays)), call_(call) {}
Results::Results(const Results&) = default;
Results::Results(Results&&) noexcept = default;
Results& Results::operator=(const Results&) = default;
Results& Results::operator=(Results&&) noexcept = default;
Results::~Results() = default;

}  // namespace smalti
