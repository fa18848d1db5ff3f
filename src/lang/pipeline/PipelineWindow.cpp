#include "lang/pipeline/PipelineWindow.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "base/Tiles.h"
#include "lang/ops/Support.h"
#include "lang/pipeline/Conditions.h"
#include "lang/refs/Indexer.h"
#include "lang/refs/SpaceText.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/dma.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

std::string shapeText(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

std::string typeText(DType dtype, const Shape& shape, MemorySpace space) {
  return fmt::format("{} in {}", ArrayType{dtype, shape}.str(), spaceText(space));
}

/// A size that the compiler may take for a multiple of a tile. Where the slice may reach past the end of its axis it is
/// a value of the kernel, though known: static slices must be inside.
Array aligned(const Array& start, const Array& size, int64_t tile, int64_t end) {
  const auto from = concreteInteger(start), length = concreteInteger(size);
  if (tile == 1 || (from && length && *from + *length <= end)) return size;
  return assumeMultiple(size, tile);
}

}  // namespace

PipelineWindow::PipelineWindow(std::string name, const Ref& source, const BlockSpec& spec, bool input, bool output,
                               const PipelineGrid* grid, const Location& at)
    : name_(std::move(name)), source_(source), spec_(spec), at_(at), input_(input), output_(output) {
  if (spec.block_shape)
    block_ = *spec.block_shape;
  else
    block_.assign(source.shape().begin(), source.shape().end());
  checkSpec();
  if (grid) checkIndexMap(grid->sizes().size());
  const Buffered* mode = spec.pipeline_mode ? &*spec.pipeline_mode : nullptr;
  space_ = spec.memory_space == MemorySpace::unspecified ? MemorySpace::vmem : spec.memory_space;
  const bool wantsHbm = space_ == MemorySpace::hbm || space_ == MemorySpace::any;
  const bool inHbm = source.memory_space() == MemorySpace::hbm || source.memory_space() == MemorySpace::any;
  if ((wantsHbm && !inHbm) || space_ == MemorySpace::semaphore || space_ == MemorySpace::host)
    refuse({.code = "SM6524",
            .message = wantsHbm ? fmt::format("You cannot request HBM block spec for a non-HBM source: {}", name_)
                                : fmt::format("Unsupported buffer memory space of {}", name_),
            .place = {},
            .need = wantsHbm ? "a Ref in HBM or ANY" : "VMEM, SMEM, or HBM for Refs in HBM",
            .help = "leave the memory space of the spec out for VMEM"});
  inPlace_ = wantsHbm || space_ == source.memory_space();
  trivial_ = grid && isTrivial(*grid);
  checkBuffering(mode);
  for (const BlockDim& d : block_)
    if (d.kind != BlockDim::Kind::squeezed) windowShape_.push_back(d.size);
}

void PipelineWindow::checkSpec() const {
  SourceLocationScope place(at_);
  if (block_.size() != source_.shape().size())
    refuse({.code = "SM6521",
            .message = fmt::format("Block shape for {} must have the same number of dimensions as its Ref", name_),
            .place = placeOf(spec_.at),
            .need = fmt::format("{}, for shape {}", counted(source_.shape().size(), "dimension"),
                                shapeText(source_.shape())),
            .have = counted(block_.size(), "dimension"),
            .help = "give one size per axis; squeezed takes an axis away"});
  for (size_t i = 0; i < block_.size(); ++i) {
    const BlockDim& d = block_[i];
    const int64_t size = source_.shape()[i], tile = tileSize({source_.dtype(), source_.shape()}, i);
    if (d.kind != BlockDim::Kind::squeezed && d.size < 1)
      refuse({.code = "SM6521",
              .message = fmt::format("the block of {} has no elements along axis {}", name_, i),
              .place = placeOf(spec_.at),
              .need = "sizes of at least 1",
              .have = fmt::format("{}", d.size),
              .help = "check how the block size is computed"});
    if (d.padding != std::pair<int64_t, int64_t>{0, 0})
      refuse({.code = "SM6521",
              .message = fmt::format("Element with padding is not supported in emit_pipeline: {}", name_),
              .place = placeOf(spec_.at),
              .need = "Element{size}",
              .have = fmt::format("padding ({}, {})", d.padding.first, d.padding.second),
              .help = "pad the array, or mask in the body"});
    const bool edges = d.kind == BlockDim::Kind::blocked && size % d.size != 0;
    if ((edges || d.kind == BlockDim::Kind::bounded || d.kind == BlockDim::Kind::element) && d.size % tile != 0)
      refuse({.code = "SM6525",
              .message = fmt::format("Block size must divide tiling along axis {} of {}", i, name_),
              .place = placeOf(spec_.at),
              .need = fmt::format("a multiple of {}, or a divisor of {}", tile, size),
              .have = fmt::format("{}", d.size),
              .help = "blocks at the edge are copied in whole tiles"});
  }
}

void PipelineWindow::checkIndexMap(size_t rank) const {
  if (!spec_.index_map) return;
  SourceLocationScope place(at_);
  const auto arities = spec_.index_map.arities();
  if (std::find(arities.begin(), arities.end(), rank) == arities.end())
    refuse({.code = "SM6523",
            .message = fmt::format("the index map of {} takes the wrong number of arguments", name_),
            .place = placeOf(spec_.index_map.at),
            .need = counted(rank, "grid index"),
            .have = arities.size() == 1 ? counted(arities[0], "argument")
                                        : fmt::format("{} arguments", fmt::join(arities, " or ")),
            .help = "an index map of a pipeline takes every index of its grid, and captures Refs"});
}

void PipelineWindow::checkBuffering(const Buffered* mode) {
  SourceLocationScope place(at_);
  std::string wrong;
  int64_t count = mode ? mode->buffer_count : trivial_ ? 1 : 2;
  if (mode && mode->buffer_count < 1)
    wrong = fmt::format("buffer_count must be at least 1, got {}", mode->buffer_count);
  else if (mode && mode->use_lookahead && output_)
    wrong = "Output buffering does not support lookahead";
  else if (mode && mode->revisit)
    wrong = "emit_pipeline does not implement RevisitMode";
  else if (mode && mode->prefetched_count < 0)
    wrong = fmt::format("prefetched_count must be at least 0, got {}", mode->prefetched_count);
  else if (mode && mode->prefetched_count > 0 && (output_ || inPlace_))
    wrong = output_ ? "only inputs can be prefetched" : "it is used in place, so nothing can be prefetched";
  else if (mode && mode->prefetched_count > count)
    wrong = fmt::format("prefetched_count {} is more than the {}", mode->prefetched_count, counted(count, "buffer"));
  if (!wrong.empty())
    refuse({.code = "SM6522",
            .message = fmt::format("{}: {}", name_, wrong),
            .place = placeOf(spec_.at),
            .need = "Buffered{n} with n >= 1; lookahead, and prefetched_count up to n, for inputs that are copied",
            .help = "leave pipeline_mode out for double buffering"});
  if (inPlace_) return;
  prefetched_ = mode ? mode->prefetched_count : 0;
  lookahead_ = mode && mode->use_lookahead && !trivial_;
  inCount_ = input_ ? count : 0;
  outCount_ = !output_ ? 0 : input_ ? 1 : count;
  slots_ = trivial_ ? 1 : inCount_ + outCount_ - (input_ && output_ ? 1 : 0);
}

bool PipelineWindow::isTrivial(const PipelineGrid& grid) const {
  for (size_t i = 0; i < block_.size(); ++i)
    if (block_[i].kind != BlockDim::Kind::blocked || block_[i].size != source_.shape()[i]) return false;
  if (!spec_.index_map) return true;
  if (std::all_of(grid.bounds().begin(), grid.bounds().end(), [](int64_t n) { return n == 1; })) return true;
  bool constant = true;  // on a trace that is thrown away
  const std::vector<ArrayType> indices(grid.sizes().size(), ArrayType{DType::i32, {}});
  Trace::current()->block(indices, [&](std::span<const Array> point) {
    for (const auto& axis : blockAt({point.begin(), point.end()}).axes) constant = constant && !axis.start.is_traced();
    return std::vector<Array>{};
  });
  return constant;
}

PipelineWindow PipelineWindow::of(const Ref& source) const {
  SourceLocationScope place(at_);
  if (source.shape() != source_.shape() || source.dtype() != source_.dtype() ||
      source.memory_space() != source_.memory_space())
    refuse({.code = "SM6522",
            .message = fmt::format("{} was made for another Ref", name_),
            .place = {},
            .need = typeText(source_.dtype(), source_.shape(), source_.memory_space()),
            .have = typeText(source.dtype(), source.shape(), source.memory_space()),
            .help = "make a BufferedRef for each type of Ref that is copied"});
  PipelineWindow w = *this;
  w.source_ = source;
  return w;
}

MemoryRef PipelineWindow::bufferType() const {
  Shape shape = windowShape_;
  if (!trivial_ && shape.size() == 1)
    shape[0] *= slots_;
  else if (!trivial_)
    shape.insert(shape.begin(), slots_);
  return {shape, source_.dtype(), space_, at_};
}

void PipelineWindow::useBuffer(const Ref& buffer) {
  SourceLocationScope place(at_);
  const MemoryRef wanted = bufferType();
  // Blocks of one axis may be rows of a buffer of two axes, as in newer versions of JAX.
  const Shape rows{slots_, windowShape_.empty() ? 1 : windowShape_[0]};
  const bool fits = buffer.shape() == wanted.shape || (!trivial_ && windowShape_.size() == 1 && buffer.shape() == rows);
  if (inPlace_ || !fits || buffer.dtype() != wanted.dtype || buffer.memory_space() != wanted.space)
    refuse({.code = "SM6522",
            .message = inPlace_ ? fmt::format("{} is used in place: it has no buffer", name_)
                                : fmt::format("this memory cannot be the buffer of {}", name_),
            .place = {},
            .need = typeText(wanted.dtype, wanted.shape, wanted.space),
            .have = typeText(buffer.dtype(), buffer.shape(), buffer.memory_space()),
            .help = "allocate one block per buffer, in the memory of the spec"});
  buffer_ = buffer;
  ownBuffer_ = true;
}

std::vector<MemoryRef> PipelineWindow::memory() const {
  if (inPlace_) return {};
  std::vector<MemoryRef> memory;
  if (!ownBuffer_) memory.push_back(bufferType());
  if (input_ && !trivial_) memory.push_back(semaphore_type::dma({slots_}, at_));
  if (output_ && !trivial_) memory.push_back(semaphore_type::dma({slots_}, at_));
  return memory;
}

void PipelineWindow::bind(const Ref*& refs) {
  if (inPlace_) return;
  if (!ownBuffer_) buffer_ = *refs++;
  if (input_ && !trivial_) inSems_ = *refs++;
  if (output_ && !trivial_) outSems_ = *refs++;
}

BlockIndex PipelineWindow::blockAt(const GridPoint& point) const {
  checkIndexMap(point.size());
  BlockIndex block;
  if (!spec_.index_map) {
    block.axes.assign(block_.size(), {constantI32(0), std::nullopt});
    return block;
  }
  std::vector<IndexArg> arguments;
  for (const Array& i : point) arguments.emplace_back(i);
  const auto entries = *spec_.index_map(arguments);
  SourceLocationScope place(spec_.index_map.at);
  const auto wrong = [&](std::string message, std::string need, std::string have) {
    refuse({.code = "SM6523",
            .message = std::move(message),
            .place = {},
            .need = std::move(need),
            .have = std::move(have),
            .help = "return one entry per axis: a block index, or ds(start, size) for a BoundedSlice"});
  };
  if (entries.size() != block_.size())
    wrong(fmt::format("Index map function for {} must return {} to match its block shape", name_,
                      counted(block_.size(), "value")),
          counted(block_.size(), "value"), counted(entries.size(), "value"));
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto* slice = std::get_if<Slice>(&entries[i]);
    const bool bounded = block_[i].kind == BlockDim::Kind::bounded;
    if (bounded && !slice)
      wrong("Must return a ds from the index_map for a BoundedSlice dimension", "ds(start, size)", "a scalar");
    if (!bounded && slice)
      wrong(fmt::format("index_map of {} returned a slice at position {}", name_, i), "an integer scalar",
            "ds(start, size)");
    if (slice) {
      block.axes.push_back({scalarI32(Operand(slice->start, slice->at)), scalarI32(Operand(slice->size, slice->at))});
      continue;
    }
    const Operand& value = std::get<Operand>(entries[i]);
    if (value.rank() != 0 || !is_integer(value.dtype()))
      wrong(fmt::format("Index map function for {} must return integer scalars. Output[{}] has type {}", name_, i,
                        value.array().type().str()),
            "an integer scalar", value.array().type().str());
    block.axes.push_back({scalarI32(value), std::nullopt});
  }
  return block;
}

/// The slice of the source along one axis. `partialSize`: set if the slice may be smaller than the block.
Index PipelineWindow::slice(size_t axis, const BlockIndex::Axis& at, std::optional<Array>& partialSize) const {
  const BlockDim& d = block_[axis];
  const int64_t size = source_.shape()[axis], tile = tileSize({source_.dtype(), source_.shape()}, axis);
  const auto of = [&](const Array& start, const Array& length) { return Index(Slice{start, length, 1, at_}, at_); };
  switch (d.kind) {
    case BlockDim::Kind::squeezed:
      return Index(at.start, at_);
    case BlockDim::Kind::element:
    case BlockDim::Kind::bounded: {
      const Array rest = minus(constantI32(size), at.start), wanted = at.size.value_or(constantI32(d.size));
      const Array length = selectValue(isLess(rest, wanted), rest, wanted);
      const Array tiles = div(Operand(plus(length, tile - 1), at_), Operand(constantI32(tile), at_));
      partialSize = tile == 1 ? length : aligned(at.start, times(tiles, constantI32(tile)), tile, size);
      return of(at.start, *partialSize);
    }
    case BlockDim::Kind::blocked:
      break;
  }
  const Array start = times(at.start, constantI32(d.size));
  const int64_t rest = size % d.size;
  if (rest == 0) return of(start, constantI32(d.size));
  const Array last = isEqual(at.start, constantI32(cdiv(size, d.size) - 1));
  const Array length = selectValue(last, constantI32(align_to(rest, tile)), constantI32(d.size));
  partialSize = aligned(start, length, tile, size);
  return of(start, *partialSize);
}

PipelineWindow::Slices PipelineWindow::slices(const BlockIndex& block) const {
  Slices s;
  for (size_t i = 0; i < block_.size(); ++i) {
    std::optional<Array> partial;
    s.source.push_back(slice(i, block.axes[i], partial));
    if (block_[i].kind == BlockDim::Kind::squeezed) continue;
    s.partial = s.partial || partial;
    s.window.emplace_back(Slice{constantI32(0), partial ? *partial : constantI32(block_[i].size), 1, at_}, at_);
  }
  return s;
}

Ref PipelineWindow::slot(const Array& count, const Slices* s) const {
  SourceLocationScope place(at_);
  if (trivial_) return buffer_;
  const Array slot = modulo(count, slots_);
  if (buffer_.rank() == 1) {
    const Array size = s ? s->window[0].slice.size : constantI32(windowShape_[0]);
    return buffer_.at({Index(Slice{times(slot, constantI32(windowShape_[0])), size, 1, at_}, at_)});
  }
  std::vector<Index> index{Index(slot, at_)};
  if (s && s->partial) index.insert(index.end(), s->window.begin(), s->window.end());
  return buffer_.at(index);
}

Ref PipelineWindow::view(const BlockIndex& block, const Array& count) const {
  SourceLocationScope place(at_);
  if (!inPlace_) return slot(count, nullptr);
  if (trivial_) return source_;
  std::vector<Index> index;
  for (size_t i = 0; i < block_.size(); ++i) {
    const BlockDim& d = block_[i];
    const Array& start = block.axes[i].start;
    if (d.kind == BlockDim::Kind::squeezed)
      index.emplace_back(start, at_);
    else
      index.emplace_back(Slice{d.kind == BlockDim::Kind::blocked ? times(start, constantI32(d.size)) : start,
                               constantI32(d.size), 1, at_},
                         at_);
  }
  return source_.at(index);
}

AsyncCopyDescriptor PipelineWindow::copy(const BlockIndex& block, const Array& count, bool in) const {
  SourceLocationScope place(at_);
  const Slices s = slices(block);
  const Ref from = source_.at(s.source), window = slot(count, &s);
  const Ref sem = (in ? inSems_ : outSems_).at({Index(modulo(count, slots_), at_)});
  return in ? make_async_copy(from, window, sem, at_) : make_async_copy(window, from, sem, at_);
}

void PipelineWindow::startIn(const BlockIndex& b, const Array& count) const { copy(b, count, true).start({}, at_); }
void PipelineWindow::waitIn(const BlockIndex& b, const Array& count) const { copy(b, count, true).wait(at_); }
void PipelineWindow::startOut(const BlockIndex& b, const Array& count) const {
  const AsyncCopyDescriptor out = copy(b, count, false);
  out.start({}, at_);
  if (outCount_ == 1) out.wait(at_);  // one buffer: the next block needs it
}
void PipelineWindow::waitOut(const BlockIndex& b, const Array& count) const {
  if (outCount_ > 1) copy(b, count, false).wait(at_);
}

void PipelineWindow::copyNow(const BlockIndex& block, bool in) const {
  SourceLocationScope place(at_);
  if (trivial_) return in ? sync_copy(source_, buffer_, at_) : sync_copy(buffer_, source_, at_);
  const Slices s = slices(block);
  const Ref from = source_.at(s.source), window = slot(constantI32(0), &s);
  in ? sync_copy(from, window, at_) : sync_copy(window, from, at_);
}

void checkAllocations(std::span<const Ref> given, const std::vector<MemoryRef>& wanted, const Location& at) {
  SourceLocationScope place(at);
  const auto wrong = [&](std::string need, std::string have) {
    refuse({.code = "SM6527",
            .message = "the allocations are not those of this pipeline",
            .place = {},
            .need = std::move(need),
            .have = std::move(have),
            .help =
                "allocate with run_scoped(body, pipeline.make_allocations(refs…)), or memory() of a BufferedRef, and "
                "pass what the body gets"});
  };
  if (given.size() != wanted.size()) wrong(counted(wanted.size(), "allocation"), fmt::format("{}", given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    const Ref& g = given[i];
    const MemoryRef& w = wanted[i];
    if (g.shape() != w.shape || g.dtype() != w.dtype || g.memory_space() != w.space)
      wrong(fmt::format("{} for allocation {}", typeText(w.dtype, w.shape, w.space), i),
            typeText(g.dtype(), g.shape(), g.memory_space()));
  }
}

Array scalarI32(const Operand& x) {
  if (const auto known = concreteInteger(x.array())) return constantI32(*known);
  return astype(x, DType::i32);
}

Array differ(const BlockIndex& a, const BlockIndex& b) {
  Array any = condition(false);
  for (size_t i = 0; i < a.axes.size(); ++i) {
    any = logicalOr(any, isDifferent(a.axes[i].start, b.axes[i].start));
    if (a.axes[i].size) any = logicalOr(any, isDifferent(*a.axes[i].size, *b.axes[i].size));
  }
  return any;
}

}  // namespace smalti::lang
