#include "RandomBodies.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <rapidcheck.h>

namespace smalti::cpu::testing {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

struct Writer {
  TextKernel& k;
  std::vector<Val> refs, loops;
  Val sink;

  Val number(const Number& n) {
    Val v = k.constant(static_cast<int32_t>(n.constant));
    if (n.gridAxis >= 0) v = k.binary("arith.addi", v, k.id(n.gridAxis));
    if (n.loop >= 0) v = k.binary("arith.addi", v, loops[static_cast<size_t>(n.loop)]);
    return v;
  }
  std::vector<Val> numbers(const std::vector<Number>& all) {
    std::vector<Val> values;
    for (const Number& n : all) values.push_back(number(n));
    return values;
  }
  void write(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) write(s);
  }
  void write(const Statement& s) {
    switch (s.kind) {
      case Statement::load:
        k.store(k.load(refs[s.ref], s.size, numbers(s.start)), sink);
        return;
      case Statement::store:
        k.store(k.splat(k.f32(1), s.size), refs[s.ref], numbers(s.start));
        return;
      case Statement::maskedStore:
        masked(s);
        return;
      case Statement::condition: {
        const Val condition =
            k.compare(s.negated ? "ne" : "eq", k.id(s.gridAxis), k.constant(static_cast<int32_t>(s.equals)));
        k.when(condition, [&] { write(s.body); });
        return;
      }
      case Statement::loop:
        k.loop(k.constant(0), k.constant(static_cast<int32_t>(s.rounds)), [&](Val i) {
          loops.push_back(i);
          write(s.body);
          loops.pop_back();
        });
        return;
    }
  }
  /// A mask of which nothing is known.
  void masked(const Statement& s) {
    const Val value = k.splat(k.f32(1), s.size), ref = refs[s.ref];
    const std::string dims = fmt::format("{}x{}", s.size[0], s.size[1]);
    const Val mask = k.fresh("vector<" + dims + "xi1>");
    k.raw(fmt::format("{} = arith.cmpf olt, {}, {} : {}", mask.name, value.name, value.name, value.type));
    std::vector<Val> at;
    for (const Val& start : numbers(s.start)) {
      at.push_back(k.fresh("index"));
      k.raw(fmt::format("{} = arith.index_cast {} : i32 to index", at.back().name, start.name));
    }
    k.raw(
        fmt::format("\"tpu.vector_store\"({}, {}, {}, {}, {}) <{{operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides "
                    "= array<i32>, add = false}}> : ({}, {}, index, index, {}) -> ()",
                    value.name, ref.name, at[0].name, at[1].name, mask.name, value.type, ref.type, mask.type));
  }
};

/// Runs statements; calls back for each load and store with the elements in order.
struct Runner {
  const std::vector<int64_t>& indices;
  std::function<void(const Statement&, size_t ref, const std::vector<Element>&)> access;
  std::vector<int64_t> loops{};

  int64_t valueOf(const Number& n) const {
    return n.constant + (n.gridAxis >= 0 ? indices[static_cast<size_t>(n.gridAxis)] : 0) +
           (n.loop >= 0 ? loops[static_cast<size_t>(n.loop)] : 0);
  }
  void run(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      if (s.kind == Statement::condition) {
        if ((indices[static_cast<size_t>(s.gridAxis)] == s.equals) != s.negated) run(s.body);
      } else if (s.kind == Statement::loop) {
        for (int64_t i = 0; i < s.rounds; ++i) {
          loops.push_back(i);
          run(s.body);
          loops.pop_back();
        }
      } else {
        const int64_t row = valueOf(s.start[0]), column = valueOf(s.start[1]);
        std::vector<Element> elements;
        for (int64_t i = 0; i < s.size[0]; ++i)
          for (int64_t j = 0; j < s.size[1]; ++j) elements.push_back({row + i, column + j});
        access(s, s.ref, elements);
      }
    }
  }
};

/// What of a dimension a random box takes, and where it begins; `loop`: depth and rounds of the innermost loop.
std::pair<Number, int64_t> someRange(const std::vector<int64_t>& grid, const std::vector<int64_t>& rounds) {
  Number start;
  int64_t most = 0;  // that is added to the constant
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0 && !grid.empty()) {
    start.gridAxis = *rc::gen::inRange(0, static_cast<int>(grid.size()));
    most = grid[static_cast<size_t>(start.gridAxis)] - 1;
  } else if (kind == 1 && !rounds.empty()) {
    start.loop = *rc::gen::inRange(0, static_cast<int>(rounds.size()));
    most = rounds[static_cast<size_t>(start.loop)] - 1;
  }
  const int64_t room = Body::kSide - most;
  // Whole dimensions are what kernels have most.
  const int64_t size =
      most == 0 && *rc::gen::inRange(0, 2) == 0 ? Body::kSide : *rc::gen::inRange<int64_t>(1, room + 1);
  start.constant = *rc::gen::inRange<int64_t>(0, room - size + 1);
  return {start, size};
}

std::vector<Statement> someStatements(const Body& body, std::vector<int64_t> rounds, int depth) {
  std::vector<Statement> statements;
  for (int n = *rc::gen::inRange(1, depth == 0 ? 6 : 4); n-- > 0;) {
    Statement s;
    const int kind = *rc::gen::inRange(0, depth < 2 ? 12 : 8);
    if (kind < 8) {
      s.kind = kind < 3 ? Statement::load : kind < 7 ? Statement::store : Statement::maskedStore;
      s.ref = *rc::gen::inRange<size_t>(0, body.refs());
      for (int d = 0; d < 2; ++d) {
        const auto [start, size] = someRange(body.grid, rounds);
        s.start.push_back(start);
        s.size.push_back(size);
      }
      // Of all of it, in all steps alike, more often than boxes happen to be.
      if (s.kind == Statement::store && *rc::gen::inRange(0, 3) == 0) {
        s.start.assign(2, Number());
        s.size.assign(2, Body::kSide);
      }
    } else if (kind < 11) {
      s.kind = Statement::condition;
      s.gridAxis = *rc::gen::inRange(0, static_cast<int>(body.grid.size()));
      s.equals = *rc::gen::inRange<int64_t>(0, body.grid[static_cast<size_t>(s.gridAxis)]);
      s.negated = *rc::gen::inRange(0, 4) == 0;
      s.body = someStatements(body, rounds, depth + 1);
    } else {
      s.kind = Statement::loop;
      s.rounds = *rc::gen::inRange<int64_t>(0, 4);
      std::vector<int64_t> inside = rounds;
      inside.push_back(std::max<int64_t>(s.rounds, 1));
      s.body = someStatements(body, inside, depth + 1);
    }
    statements.push_back(std::move(s));
  }
  return statements;
}

/// Half of a ref, or all of it.
Statement halfOf(Statement::Kind kind, size_t ref) {
  constexpr int64_t kHalf = Body::kSide / 2;
  Statement s{.kind = kind, .ref = ref, .size = {Body::kSide, Body::kSide}, .start = {{}, {}}};
  if (const int which = *rc::gen::inRange(0, 3); which < 2) {
    s.size[0] = kHalf;
    s.start[0].constant = which * kHalf;
  }
  return s;
}
Statement under(const Body& body, Statement inner) {
  Statement s{.kind = Statement::condition};
  s.gridAxis = *rc::gen::inRange(0, static_cast<int>(body.grid.size()));
  s.equals = *rc::gen::inRange<int64_t>(0, 2);
  s.negated = *rc::gen::inRange(0, 4) == 0;
  s.body = {std::move(inner)};
  return s;
}

/// What accumulators look like: some steps write a part of a scratch, or what a loop goes through, and some read one.
std::vector<Statement> someAccumulation(const Body& body) {
  std::vector<Statement> statements;
  const auto add = [&](Statement s) {
    const int kind = *rc::gen::inRange(0, 5);
    if (kind == 0) {
      Statement loop{.kind = Statement::loop};
      loop.rounds = *rc::gen::inRange<int64_t>(0, 3);
      loop.body = {std::move(s)};
      statements.push_back(std::move(loop));
    } else {
      statements.push_back(kind == 1 ? std::move(s) : under(body, std::move(s)));
    }
  };
  for (int n = *rc::gen::inRange(1, 4); n-- > 0;) add(halfOf(Statement::store, 0));
  add(halfOf(Statement::load, 0));
  if (body.outputs.empty()) return statements;
  statements.push_back(halfOf(Statement::store, body.scratches));
  return statements;
}

Element placeOf(const Body& body, size_t output, const std::vector<int64_t>& point, Element e) {
  const BlockMap& map = body.outputs[output];
  return {map.coordinate(0, point) * Body::kSide + e.first, map.coordinate(1, point) * Body::kSide + e.second};
}

uint64_t mixed(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2);
  return a * 0xbf58476d1ce4e5b9U;
}

}  // namespace

int64_t BlockMap::coordinate(size_t dim, const std::vector<int64_t>& point) const {
  if (axis[dim] < 0) return 0;
  const int64_t index = point[static_cast<size_t>(axis[dim])];
  return dim == 0 && !lookedUp.empty() ? lookedUp[static_cast<size_t>(index)] : index;
}

Shape Body::arrayOf(size_t output) const {
  Shape shape;
  for (const int axis : outputs[output].axis)
    shape.push_back(axis < 0 ? kSide : grid[static_cast<size_t>(axis)] * kSide);
  return shape;
}

TextKernel Body::kernel() const {
  TextKernel k(grid, "arbitrary");
  Writer writer{.k = k, .refs = {}, .loops = {}, .sink = {}};
  std::vector<Val> outs;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const auto coordinate = [&](int axis) { return axis < 0 ? std::string("%c0") : std::string("%") + "ijk"[axis]; };
    std::string lines, first = coordinate(outputs[o].axis[0]);
    if (const auto& lookedUp = outputs[o].lookedUp; !lookedUp.empty()) {
      const Val table = k.prefetch("i32", {static_cast<int64_t>(lookedUp.size())});
      lines = fmt::format("%at = arith.index_cast {} : i32 to index\n%found = memref.load {}[%at] : {}\n", first,
                          table.name, table.type);
      first = "%found";
    }
    outs.push_back(k.output({.array = arrayOf(o),
                             .block = {kSide, kSide},
                             .map = first + ", " + coordinate(outputs[o].axis[1]),
                             .lines = lines}));
  }
  // The sink is whole and nobody asks about it.
  for (size_t s = 0; s < scratches; ++s) writer.refs.push_back(k.scratch("f32", {kSide, kSide}));
  writer.sink = k.scratch("f32", {kSide, kSide});
  writer.refs.insert(writer.refs.end(), outs.begin(), outs.end());
  writer.write(statements);
  return k;
}

size_t Body::argumentOf(size_t ref) const {
  // The function takes scalar prefetch before the outputs.
  const auto prefetched =
      static_cast<size_t>(std::ranges::count_if(outputs, [](const BlockMap& map) { return !map.lookedUp.empty(); }));
  return grid.size() + prefetched + (ref < scratches ? outputs.size() + ref : ref - scratches);
}

Body someBody(size_t outputs) {
  Body body;
  for (int n = *rc::gen::inRange(1, 3); n-- > 0;) body.grid.push_back(*rc::gen::inRange<int64_t>(1, 4));
  const int rank = static_cast<int>(body.grid.size());
  for (size_t o = 0; o < outputs; ++o) {
    BlockMap map;
    for (int& axis : map.axis) axis = *rc::gen::inRange(-1, rank);
    body.outputs.push_back(map);
  }
  body.statements = *rc::gen::inRange(0, 2) == 0 ? someAccumulation(body) : someStatements(body, {}, 0);
  return body;
}

Trace runOnce(const Body& body, const std::vector<int64_t>& indices) {
  Trace trace{.written = std::vector<std::set<Element>>(body.refs()),
              .readFirst = std::vector<bool>(body.refs()),
              .stored = std::vector<bool>(body.refs())};
  Runner runner{.indices = indices,
                .access = [&](const Statement& s, size_t ref, const std::vector<Element>& elements) {
                  for (const Element& e : elements) {
                    if (s.kind == Statement::load && !trace.written[ref].contains(e)) trace.readFirst[ref] = true;
                    if (s.kind == Statement::store) trace.written[ref].insert(e);
                    if (s.kind != Statement::load) trace.stored[ref] = true;
                  }
                }};
  runner.run(body.statements);
  return trace;
}

Body someAccumulator() {
  Body body{.grid = {2, 2}, .scratches = 1, .outputs = {{.axis = {0, 1}}}, .statements = {}};
  const auto inSomeSteps = [](Statement inner, int64_t equals) {
    return Statement{.kind = Statement::condition,
                     .gridAxis = *rc::gen::inRange(0, 2),
                     .equals = equals,
                     .body = {std::move(inner)}};
  };
  for (int n = 0; n < 2; ++n) body.statements.push_back(inSomeSteps(halfOf(Statement::store, 0), 0));
  body.statements.push_back(inSomeSteps(halfOf(Statement::load, 0), *rc::gen::inRange<int64_t>(0, 2)));
  Statement all{.kind = Statement::store, .ref = 1, .size = {Body::kSide, Body::kSide}, .start = {{}, {}}};
  body.statements.push_back(std::move(all));
  return body;
}

Body someRuns() {
  Body body{.grid = {*rc::gen::inRange<int64_t>(2, 6)}, .scratches = 1, .outputs = {}, .statements = {}};
  const int last = *rc::gen::inRange(0, 2);
  if (last == 1) body.grid.insert(body.grid.begin(), 2);
  if (*rc::gen::inRange(0, 2) == 0) body.grid.push_back(2);  // an axis inside the runs
  const int64_t steps = body.grid[static_cast<size_t>(last)];
  for (int n = *rc::gen::inRange(1, 3); n-- > 0;) {
    BlockMap map{.axis = {last, last - 1}};
    for (int64_t i = 0; i < steps; ++i) map.lookedUp.push_back(*rc::gen::inRange<int64_t>(0, steps));
    if (*rc::gen::inRange(0, 4) != 0) std::ranges::sort(map.lookedUp);
    body.outputs.push_back(std::move(map));
  }
  body.statements = *rc::gen::inRange(0, 2) == 0 ? someAccumulation(body) : someStatements(body, {}, 0);
  // The outputs are defined more often than they happen to be.
  for (size_t o = 0; o < body.outputs.size(); ++o) {
    Statement all{
        .kind = Statement::store, .ref = body.scratches + o, .size = {Body::kSide, Body::kSide}, .start = {{}, {}}};
    body.statements.insert(*rc::gen::inRange(0, 2) == 0 ? body.statements.begin() : body.statements.end(),
                           std::move(all));
  }
  return body;
}

std::vector<std::vector<int64_t>> pointsOf(const std::vector<int64_t>& grid) {
  std::vector<std::vector<int64_t>> points{{}};
  for (const int64_t bound : grid) {
    std::vector<std::vector<int64_t>> next;
    for (const auto& p : points)
      for (int64_t i = 0; i < bound; ++i) {
        next.push_back(p);
        next.back().push_back(i);
      }
    points = std::move(next);
  }
  return points;
}

GroupOf groupsOf(const Body& body, const ParallelPlan& plan) {
  const auto axes = static_cast<size_t>(plan.axes);
  std::vector<int64_t> runs;  // by index on the axis of runs: the number of its run
  if (plan.runs) {
    bool ascends = true;
    std::vector<bool> begins;
    std::vector<int64_t> point(body.grid.size()), before = point;
    for (int64_t i = 1; i < body.grid[axes]; ++i) {
      point[axes] = i;
      before[axes] = i - 1;
      bool all = true;
      for (size_t o = 0; o < body.outputs.size(); ++o) {
        const size_t dim = plan.runs->coordinates[o];
        const int64_t now = body.outputs[o].coordinate(dim, point), last = body.outputs[o].coordinate(dim, before);
        all &= now > last;
        ascends &= now >= last;
      }
      begins.push_back(all);
    }
    runs.push_back(0);
    for (const bool b : begins) runs.push_back(runs.back() + (b && ascends));
  }
  return [axes, runs](const std::vector<int64_t>& point) {
    std::vector<int64_t> name(point.begin(), point.begin() + static_cast<ptrdiff_t>(axes));
    if (!runs.empty()) name.push_back(runs[static_cast<size_t>(point[axes])]);
    return name;
  };
}

GridRun runGrid(const Body& body, const GroupOf& groupOf, uint64_t junk) {
  GridRun run;
  auto points = pointsOf(body.grid);
  if (groupOf) std::ranges::stable_sort(points, [&](const auto& a, const auto& b) { return groupOf(a) > groupOf(b); });
  std::map<std::pair<size_t, Element>, uint64_t> scratch;
  std::optional<std::vector<int64_t>> last;
  for (const auto& point : points) {
    // Another thread's memory: whatever was there before.
    if (groupOf && last && groupOf(*last) != groupOf(point)) scratch.clear();
    last = point;
    uint64_t seen = 1;  // of all that this point has loaded so far
    int store = 0;
    Runner runner{.indices = point,
                  .access = [&](const Statement& s, size_t ref, const std::vector<Element>& elements) {
                    const bool isScratch = ref < body.scratches;
                    ++store;
                    for (const Element& e : elements) {
                      const Element place = isScratch ? e : placeOf(body, ref - body.scratches, point, e);
                      auto& memory = isScratch ? scratch : run.values;
                      const std::pair key{isScratch ? ref : ref - body.scratches, place};
                      if (s.kind == Statement::load) {
                        const auto found = memory.find(key);
                        run.undefined |= found == memory.end();
                        run.readsUnwrittenOutput |= !isScratch && found == memory.end();
                        seen = mixed(seen, found == memory.end() ? junk : found->second);
                      } else if (s.kind == Statement::store) {
                        uint64_t value = mixed(seen, static_cast<uint64_t>(store));
                        for (const int64_t i : point) value = mixed(value, static_cast<uint64_t>(i));
                        memory[key] = value;
                      }
                    }
                  }};
    runner.run(body.statements);
  }
  return run;
}

}  // namespace smalti::cpu::testing
