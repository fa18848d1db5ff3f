'use strict';
// Everything that is shown comes from the element #data; texts of modules are set as text, never as HTML.
const data = JSON.parse(document.getElementById('data').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const colors = dark ? ['#4493f8', '#3fb950', '#d29922', '#f778ba', '#a371f7', '#39c5cf', '#ff7b72', '#9198a1']
                    : ['#0969da', '#1a7f37', '#bf8700', '#bf3989', '#8250df', '#1b7c83', '#cf222e', '#59636e'];
Chart.defaults.color = dark ? '#9198a1' : '#59636e';
Chart.defaults.borderColor = dark ? '#3d444d' : '#d1d9e0';
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

function make(tag, text, name) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
}
function add(to, ...children) { to.append(...children); return to; }
const digits = (x, n = 3) => Number(x.toPrecision(n)).toLocaleString('en');
const bytes = b => { let i = 0; for (; b >= 1024 && i < 4; ++i) b /= 1024; return digits(b) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][i]; };
const micro = us => us >= 1e4 ? digits(us / 1e3) + ' ms' : digits(us) + ' µs';
const percent = (x, n = 3) => digits(100 * x, n) + ' %';

function card(what, value, name) { return add(make('div', undefined, 'card'), make('b', value, name), make('span', what)); }
function section(title, note) {
  const s = add(make('section'), make('h2', title));
  if (note) s.append(make('div', note, 'soft'));
  return s;
}
function table(titles, rows) {  // a title that starts with # is of numbers; phones show rows of many columns as paragraphs
  const head = make('tr'), body = make('tbody'), name = t => t.replace('#', '');
  for (const t of titles) head.append(make('th', name(t), t[0] === '#' ? 'n' : ''));
  for (const row of rows) {
    const tr = make('tr');
    row.forEach((cell, i) => {
      const td = make('td', cell instanceof Node ? undefined : cell, titles[i] === '' ? 'b' : titles[i][0] === '#' ? 'n' : '');
      if (cell instanceof Node) td.append(cell);
      if (i > 0) td.dataset.title = name(titles[i]);
      tr.append(td);
    });
    body.append(tr);
  }
  return add(make('div', undefined, 'table'), add(make('table', undefined, titles.length > 4 ? 'wide' : ''), add(make('thead'), head), body));
}
function bar(share, color) {
  const b = make('div', undefined, 'bar');
  b.style.width = Math.max(0, Math.min(100, 100 * share)) + '%';
  if (color) b.style.background = color;
  return b;
}
// "kernels.py:22:5" of "/home/me/kernels.py:22:5", unless two files have that name.
const fileOf = place => place.replace(/(:\d+)+$/, ''), nameOf = file => file.slice(file.lastIndexOf('/') + 1);
const files = new Set(data.kernels.flatMap(k => k.lines.map(l => fileOf(l.place))));
const short = place => [...files].filter(f => nameOf(f) === nameOf(fileOf(place))).length > 1 ? place : nameOf(place);
function code(place, none = 'no location') {
  const e = make('code', place ? short(place) : none);
  if (place) e.title = place;
  return e;
}
let charts = [];
function chart(to, height, config) {
  const canvas = make('canvas'), box = make('div', undefined, 'chart');
  box.style.height = height + 'px';
  box.append(canvas);
  to.append(box);
  charts.push([canvas, config]);
}

function finding(d, kind) {
  const f = add(make('div', undefined, 'finding ' + kind), make('b', d.code + ': ' + d.message));
  const line = (name, text) => text && f.append(make('div', name + text, 'soft'));
  line('at ', d.place); line('need: ', d.need); line('have: ', d.have); line('help: ', d.help);
  return f;
}
function findings(chip) {
  const s = section('What the compiler says');
  for (const d of chip.refusals) s.append(finding(d, ''));
  if (!chip.refusals.length) s.append(make('div', 'It takes the kernels.', 'finding note'));
  if (chip.warnings.length) s.append(make('h2', 'What it takes, and what is slow all the same'));
  for (const d of chip.warnings) s.append(finding(d, 'slow'));
  return s;
}
function spentChart(time) {
  const once = time.loops_counted_once;
  const s = section('Where the time goes', 'most of it: ' + time.bound.replaceAll('_', ' ') +
      (once.length ? '; one iteration is counted of loops that run an unknown number of times: ' + once.join(', ') : ''));
  const parts = Object.entries(time.parts_us).filter(([, us]) => us > 0);
  chart(s, 70 + 34 * parts.length, {type: 'bar', data: {labels: parts.map(p => [p[0].replaceAll('_', ' '), micro(p[1]) + ', ' + percent(p[1] / time.us, 2)]),
      datasets: [{data: parts.map(p => p[1]), backgroundColor: parts.map((_, i) => colors[i % colors.length])}]},
    options: {indexAxis: 'y', plugins: {legend: {display: false}}, scales: {x: {title: {display: true, text: 'µs'}}}}});
  return s;
}
function roofline(chip, time) {
  const s = section('Roofline', 'operations for each byte of HBM, and how many a second; upper lines are what the chip can');
  const roof = chip.facts, points = [];
  for (const k of time.kernels)
    for (const [unit, peak] of [['matrix unit', roof.matrix_tops], ['vector arithmetic', roof.vector_tops]]) {
      const operations = (k.work_cycles[unit] || 0) / roof.clock_mhz * peak * 1e6 / roof.cores * k.cores;  // work is of one core
      if (operations > 0 && k.hbm_bytes > 0 && k.us > 0)
        points.push({x: operations / (k.hbm_bytes * k.cores), y: operations / k.us / 1e6, unit, label: k.kernel});
    }
  const xs = [0.1, ...points.map(p => p.x), 1e4], low = Math.min(...xs), high = Math.max(...xs);
  const line = peak => [low, peak * 1e3 / roof.hbm_gb, high].sort((a, b) => a - b)
      .map(x => ({x, y: Math.min(peak, x * roof.hbm_gb / 1e3)}));
  chart(s, 300, {type: 'scatter', data: {datasets: [
      {label: 'matrix units', data: line(roof.matrix_tops), showLine: true, pointRadius: 0, borderColor: colors[0]},
      {label: 'vector units', data: line(roof.vector_tops), showLine: true, pointRadius: 0, borderColor: colors[1]},
      {label: 'products', data: points.filter(p => p.unit === 'matrix unit'), pointRadius: 6, backgroundColor: colors[0]},
      {label: 'vector operations', data: points.filter(p => p.unit === 'vector arithmetic'), pointRadius: 6, backgroundColor: colors[1]}]},
    options: {scales: {x: {type: 'logarithmic', title: {display: true, text: 'operations / byte of HBM'}},
        y: {type: 'logarithmic', title: {display: true, text: '10¹² operations / s'}}},
      plugins: {tooltip: {callbacks: {label: c => (c.raw.label || c.dataset.label) + ': ' + digits(c.raw.x) + ' per byte, ' + digits(c.raw.y) + ' T/s'}}}}});
  return s;
}
function units(chip, kernel) {
  const s = section('Units of ' + kernel.kernel, 'busy, of ' + digits(kernel.us) + ' µs on ' + kernel.cores + ' core' + (kernel.cores > 1 ? 's' : ''));
  const names = Object.keys(kernel.work_cycles), all = kernel.us * chip.facts.clock_mhz;
  const rows = names.map(n => [n.replaceAll('_', ' '), 100 * kernel.work_cycles[n] / all]);
  rows.push(['HBM', 100 * kernel.hbm_bytes * kernel.cores / (kernel.us * chip.facts.hbm_gb * 1e3)]);
  chart(s, 60 + 26 * rows.length, {type: 'bar', data: {labels: rows.map(r => r[0] + ' ' + digits(r[1], 2) + ' %'), datasets: [{data: rows.map(r => r[1]), backgroundColor: colors[0]}]},
    options: {indexAxis: 'y', plugins: {legend: {display: false}}, scales: {x: {min: 0, max: 100, title: {display: true, text: '% of the time'}}}}});
  return s;
}
function pipeline(kernel) {
  const s = section('Pipeline of ' + kernel.kernel, 'the first steps of one core: who is copied, computes, waits; a colour for each step, waits are red');
  const lanes = [...new Set(kernel.events.map(e => e.lane))], steps = Math.max(...kernel.events.map(e => e.step)) + 1;
  const order = lane => lane === 'body' ? 0 : lane === 'waits' ? 1 : lane.startsWith('input') ? 2 : 3;
  lanes.sort((a, b) => order(a) - order(b) || a.localeCompare(b));
  const sets = [];
  for (let step = 0; step < steps; ++step)
    for (const e of kernel.events.filter(e => e.step === step))
      sets.push({label: e.lane + ' of step ' + step, data: [{x: [e.from_us, e.to_us], y: e.lane}], grouped: false,
        backgroundColor: e.lane === 'waits' ? colors[6] : colors[step % 5], barThickness: 14});
  chart(s, 80 + 30 * lanes.length, {type: 'bar', data: {labels: lanes, datasets: sets},
    options: {indexAxis: 'y', plugins: {legend: {display: false}, tooltip: {callbacks: {title: () => '',
        label: c => c.dataset.label + ': ' + micro(c.raw.x[1] - c.raw.x[0])}}},
      scales: {x: {title: {display: true, text: 'µs'}}}}});
  return s;
}
function traffic(kernel) {
  const s = section('Memory traffic of ' + kernel.kernel, 'what copies move between HBM and the chip; “times its array”: how often each byte of it moves');
  const most = Math.max(1, ...kernel.traffic.map(t => t.bytes));
  s.append(table(['operand', '#moved', '', '#copies', '#times its array'], kernel.traffic.map(t =>
      [t.what, bytes(t.bytes), bar(t.bytes / most), digits(t.copies, 6), t.array_bytes > 0 ? digits(t.bytes / t.array_bytes, 2) : ''])));
  return s;
}
function memory(map) {
  const s = section('VMEM of ' + map.kernel, bytes(map.vmem_bytes) + ' of ' + bytes(map.limit_bytes) +
      (map.fits === 'uncertain' ? ', which may be too much: ' + bytes(map.low_bytes) + ' to ' + bytes(map.high_bytes) : ''));
  const parts = map.parts.filter(p => p.bytes > 0), most = Math.max(1, ...parts.map(p => p.bytes));
  const color = i => colors[i % colors.length];
  chart(s, 110, {type: 'bar', data: {labels: [''], datasets: [
      ...parts.map((p, i) => ({label: p.what + ' ' + p.array, data: [p.bytes / 1048576], backgroundColor: color(i)})),
      {label: 'free', data: [Math.max(0, map.limit_bytes - map.vmem_bytes) / 1048576], backgroundColor: dark ? '#21262d' : '#e6eaef'}]},
    options: {indexAxis: 'y', plugins: {legend: {display: false}}, scales: {x: {stacked: true, title: {display: true, text: 'MiB'}}, y: {stacked: true}}}});
  s.append(table(['what', '#bytes', '', 'array', '#buffers', 'first used'], parts.map((p, i) =>
      [p.what, (p.buffers ? '' : '≈ ') + bytes(p.bytes), bar(p.bytes / most, color(i)), p.array, p.buffers ? String(p.buffers) : '', code(p.place, '')])));
  if (map.axes.length)
    s.append(make('h2', 'The largest block of each axis that fits'), table(['axis', '#now', '#largest', '#that divides', '#of', 'moves with it'],
      map.axes.map(a => ['axis ' + a.axis, String(a.block), String(a.largest), a.dividing ? String(a.dividing) : 'none', String(a.extent), a.follow.join(', ')])));
  s.append(make('div', 'SMEM ' + bytes(map.smem_bytes) + ', semaphores ' + map.semaphores + ', HBM ' + bytes(map.hbm_bytes) + ' for operands and results', 'soft'));
  return s;
}
function lines(chip, kernel, source) {
  const s = section('Source lines of ' + kernel.kernel, 'what they ask of the units, in cycles of one core; ops of the kernel that come of them');
  const most = Math.max(1, ...kernel.lines.map(l => l.cycles));
  const opsOf = place => Object.entries((source.find(l => l.place === place) || {ops: {}}).ops).map(([op, n]) => n > 1 ? op + ' ×' + n : op).join(', ');
  s.append(table(['line', '#cycles', '', 'unit', 'ops'], kernel.lines.map(l =>
      [code(l.place), digits(l.cycles), bar(l.cycles / most), l.unit, make('code', opsOf(l.place))])));
  return s;
}
// ---- a run as native code
function measuredSteps(k) {
  const s = section('Grid steps of ' + k.kernel, 'measured' + (k.first_steps.length < k.steps ? ', the first ' + digits(k.first_steps.length, 6) + ' of ' + digits(k.steps, 6) : '') +
      (k.grid.length ? '; native code runs a grid of ' + k.grid.map(b => b < 0 ? 'n' : b).join(' × ') : ''));
  const sets = [];
  for (let t = 0; t < k.threads; ++t) {
    const points = k.first_steps.filter(p => p.thread === t).map(p => ({x: p.from_us, y: p.to_us - p.from_us, step: p.step}));
    if (points.length) sets.push({label: 'thread ' + t, data: points, backgroundColor: colors[t % colors.length], pointRadius: points.length > 200 ? 1.5 : 3});
  }
  chart(s, 240, {type: 'scatter', data: {datasets: sets}, options: {plugins: {legend: {display: sets.length > 1},
      tooltip: {callbacks: {label: c => 'step ' + c.raw.step + ': ' + micro(c.raw.y)}}},
    scales: {x: {title: {display: true, text: 'began at, µs'}}, y: {min: 0, title: {display: true, text: 'took, µs'}}}}});
  return s;
}
// "kernels.py:22, 23, 25", a file a line.
function placesText(places) {
  const lines = new Map();
  for (const place of places) {
    const [, file, line] = place.match(/^(.*?):(\d+)(?::\d+)?$/) || [null, place, ''];
    if (!lines.has(file)) lines.set(file, new Set());
    if (line) lines.get(file).add(Number(line));
  }
  return [...lines].map(([file, of]) => file + (of.size ? ':' + [...of].sort((a, b) => a - b).join(', ') : '')).join('\n');
}
function measuredLines(k) {
  const s = section('Source lines of ' + k.kernel, 'measured, all threads together; what is computed in one loop over the same rows is measured as one');
  const most = Math.max(...k.parts.map(p => p.us), 1e-9);
  s.append(table(['line', '#time', '', '#times', 'ops'], k.parts.map(p =>
      [make('code', placesText(p.places) || (p.ops.length ? 'no location' : 'grid steps, index maps, scalars')),
       micro(p.us), bar(p.us / most), p.times ? digits(p.times, 6) : '', make('code', p.ops.join(', '))])));
  return s;
}
function showRun(run) {
  const main = document.getElementById('main');
  const cards = add(make('div', undefined, 'cards'), card('the fastest of ' + run.runs + ' runs on ' + run.processor, micro(run.us)),
                    card('the same, measuring', micro(run.measured_us)));
  main.append(cards);
  for (const k of run.kernels) {
    if (k.not_measured) {
      main.append(add(section(k.kernel), make('div', 'Not measured: ' + k.not_measured + '.', 'finding slow')));
      continue;
    }
    cards.append(card(k.kernel + (k.calls > 1 ? ', ' + k.calls + ' calls' : '') + ', ' + k.threads + ' thread' + (k.threads > 1 ? 's' : ''), micro(k.us)));
    main.append(measuredSteps(k), measuredLines(k));
  }
}

function kernelText(k) {
  const details = add(make('details'), make('summary', 'The kernel as the compiler gets it'), make('pre', k.text));
  return add(section(k.name, k.grid ? 'grid ' + k.grid : 'no grid'), details);
}

function show(name) {
  const main = document.getElementById('main');
  for (const [canvas] of charts) Chart.getChart(canvas)?.destroy();
  charts = [];
  main.replaceChildren();
  for (const b of document.querySelectorAll('nav button')) b.setAttribute('aria-pressed', String(b.dataset.chip === name));
  if (name === 'cpu') showRun(data.cpu); else showChip(name, data.chips[name]);
  for (const k of data.kernels) main.append(kernelText(k));
  for (const [canvas, config] of charts) new Chart(canvas, config);
}
function showChip(name, chip) {
  const main = document.getElementById('main');
  const time = chip.time && !chip.time.error ? chip.time : null, most = chip.vmem.reduce((a, b) => a.vmem_bytes > b.vmem_bytes ? a : b, chip.vmem[0]);
  const cards = add(make('div', undefined, 'cards'), card('by the compiler of ' + name, chip.refusals.length ? 'refused' : 'accepted', chip.refusals.length ? 'bad' : 'good'));
  if (time) cards.append(card(micro(time.low_us) + ' to ' + micro(time.high_us) + ', modelled', micro(time.us)),
                         card('of the roofline', percent(time.roofline_fraction)), card('most of the time', time.bound.replaceAll('_', ' ')));
  if (most) cards.append(card('of VMEM, limit ' + bytes(most.limit_bytes), bytes(most.vmem_bytes), {yes: 'good', no: 'bad', uncertain: 'maybe'}[most.fits]));
  main.append(cards, findings(chip));
  if (chip.time && chip.time.error) {
    const s = section('No time');
    s.append(make('div', chip.time.error.code + ': ' + chip.time.error.message, 'finding'), make('div', chip.time.error.help || '', 'soft'));
    main.append(s);
  }
  if (time) {
    if (chip.advice.length) {
      const s = section('What would make it faster', 'each change timed by the model');
      s.append(table(['change', '#of the time', ''], chip.advice.map(a => [a.text, percent(a.share_of_time), bar(a.share_of_time)])));
      main.append(s);
    }
    main.append(add(make('div', undefined, 'pair'), spentChart(time), roofline(chip, time)));
    for (const k of time.kernels) {
      const pair = add(make('div', undefined, 'pair'), units(chip, k));
      if (k.events.length) pair.append(pipeline(k));
      main.append(pair);
      if (k.traffic.length) main.append(traffic(k));
      main.append(lines(chip, k, (data.kernels.find(d => d.name === k.kernel) || {lines: []}).lines));
    }
  }
  for (const map of chip.vmem) main.append(memory(map));
}

document.title = data.module + ' – Smalti';
document.getElementById('title').textContent = data.module;
document.getElementById('subtitle').textContent = data.kernels.map(k => k.name).join(', ') + ' · ' + data.version;
const shown = [...Object.keys(data.chips), ...(data.cpu ? ['cpu'] : [])];
for (const name of shown) {
  const b = make('button', name);
  b.dataset.chip = name;
  b.onclick = () => { location.hash = name; show(name); };
  document.getElementById('chips').append(b);
}
const wanted = location.hash.slice(1);
show(shown.includes(wanted) ? wanted : shown[0]);
