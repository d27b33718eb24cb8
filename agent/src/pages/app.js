'use strict';
// The whole report. Everything foreign becomes text by textContent or an attribute that runs nothing;
// nothing is ever parsed as HTML.
const gistify = (() => {
  const $ = id => document.getElementById(id), NS = 'http://www.w3.org/2000/svg';
  let index = null, shown = '', findings = [], at = -1;
  const loaded = new Map(), waiting = new Map();
  const sorting = new Map();
  // Long tables move in a box of their own, below their heads, and have the rows near it only, which are drawn
  // anew when it moves.
  const MANY = 150, SPARE = 40;
  let long = [];

  const make = (tag, parent, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = String(text);
    if (name) node.className = name;
    if (parent) parent.append(node);
    return node;
  };
  const svg = (tag, parent, attributes) => {
    const node = document.createElementNS(NS, tag);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    parent.append(node);
    return node;
  };
  // Links lead within the page only.
  const link = (parent, text, hash, name) => { const a = make('a', parent, text, name); a.href = '#/' + hash; return a };
  const percent = value => value === null || value === undefined ? '-' : (value * 100).toFixed(1);
  const time = seconds => seconds === null || seconds === undefined ? '-' : seconds < 60 ? seconds.toFixed(2) + ' s' : (seconds / 60).toFixed(1) + ' min';
  const part = text => encodeURIComponent(text);

  // Loads libraries in order, when first needed. If one fails, only its feature is missing.
  const libraries = new Map();
  function library(names, then) {
    const all = names.join();
    if (!libraries.has(all)) libraries.set(all, names.reduce((before, name) => before.then(() => new Promise((loads, fails) => {
      const script = document.createElement('script');
      script.src = name; script.onload = loads; script.onerror = fails;
      document.head.append(script);
    })), Promise.resolve()));
    libraries.get(all).then(then, () => {});
  }
  let charts = null;
  // Calls `act` with the charts, unless the page has changed since.
  const draw = act => { const hash = location.hash, main = $('main').firstChild; library(['d3.js', 'plot.js', 'plots.js'], () => { if (hash === location.hash && main === $('main').firstChild) act(charts) }) };

  // The lines of a Python text, each as pairs of a kind and a piece; `show` gets them once the library is there.
  function coloured(text, show) {
    library(['prism.js'], () => {
      const all = [[]];
      const walk = (token, kind) => {
        if (typeof token === 'string') token.split('\n').forEach((piece, n) => { if (n) all.push([]); if (piece) all[all.length - 1].push([kind, piece]) });
        else if (Array.isArray(token)) token.forEach(each => walk(each, kind));
        else walk(token.content, token.type);
      };
      walk(Prism.tokenize(text, Prism.languages.python), '');
      show(all);
    });
  }
  const paint = (node, pieces) => { if (pieces && pieces.map(([, piece]) => piece).join('') === node.textContent) node.replaceChildren(...pieces.map(([kind, piece]) => make('span', null, piece, kind ? 'py-' + kind : ''))) };
  const good = row => row.standing === 'scored' ? (row.what ? 'bad' : 'good') : 'odd';

  // A table whose heads sort it. Columns: name, figure?, key(row), cell(td, row).
  function table(parent, id, columns, rows) {
    const box = make('div', parent, null, rows.length > MANY ? 'scroll tall' : 'scroll'), node = make('table', box, null, rows.length > MANY ? 'many' : ''), body = make('tbody');
    const heads = make('tr', make('thead', node));
    node.append(body);
    let sorted = rows, from = 0, to = 0, height = 26;
    const draw = (row, at) => {
      const line = document.createElement('tr');
      if (rows.length > MANY) line.setAttribute('aria-rowindex', at + 2);
      for (const column of columns) column.cell(make('td', line, null, column.figure ? 'figure' : column.long ? 'long' : ''), row);
      return line;
    };
    const gap = count => { const line = document.createElement('tr'); line.className = 'gap'; line.setAttribute('aria-hidden', 'true'); const td = make('td', line); td.colSpan = columns.length; td.style.height = count * height + 'px'; return line };
    // The rows that can be seen, and some more.
    const near = fresh => {
      const top = body.getBoundingClientRect().top, clip = at => Math.max(0, Math.min(sorted.length, at));
      const first = clip(Math.floor(-top / height)), last = clip(Math.ceil((innerHeight - top) / height));
      if (!fresh && first >= from && last <= to) return;
      [from, to] = [clip(first - SPARE), clip(last + SPARE)];
      body.replaceChildren(...[from && gap(from), ...sorted.slice(from, to).map((row, n) => draw(row, from + n)), to < sorted.length && gap(sorted.length - to)].filter(Boolean));
      const real = body.querySelector('tr:not(.gap)').offsetHeight;
      if (real && Math.abs(real - height) > .5) { height = real; near(true) }
    };
    const fill = () => {
      const order = sorting.get(id);
      sorted = rows.slice();
      if (order) {
        const key = columns[order[0]].key;
        sorted.sort((a, b) => {
          const x = key(a), y = key(b), gone = v => v === null || v === undefined || v === '';
          if (gone(x) || gone(y)) return gone(x) - gone(y);
          return (x < y ? -1 : x > y ? 1 : 0) * order[1];
        });
      }
      if (rows.length > MANY) near(true); else body.replaceChildren(...sorted.map(draw));
      [...heads.children].forEach((head, n) => head.setAttribute('aria-sort', order && order[0] === n ? (order[1] > 0 ? 'ascending' : 'descending') : 'none'));
    };
    columns.forEach((column, n) => {
      const head = make('th', heads, column.name, column.figure ? 'figure' : '');
      if (!column.key) return;
      head.tabIndex = 0; head.setAttribute('role', 'button');
      const turn = () => { const order = sorting.get(id); sorting.set(id, order && order[0] === n ? [n, -order[1]] : [n, column.figure ? -1 : 1]); fill() };
      head.onclick = turn;
      head.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); turn() } };
    });
    fill();
    if (rows.length > MANY) {
      node.setAttribute('aria-rowcount', rows.length + 1);
      box.tabIndex = 0;
      // Columns keep their width, whichever rows are there.
      for (const head of heads.children) head.style.minWidth = head.offsetWidth + 'px';
      long.push(near);
    }
    return node;
  }
  const words = (name, of, long) => ({ name, long, key: of, cell: (td, row) => { td.textContent = of(row) ?? '' } });
  const figure = (name, of, show) => ({ name, figure: true, key: of, cell: (td, row) => { const value = of(row); td.textContent = value === null || value === undefined ? '-' : show ? show(value) : value } });

  function range(parent, mean, interval) {
    if (mean === null || mean === undefined || !interval) { parent.textContent = '-'; return }
    const box = make('span', parent, null, 'range'), span = make('i', box), dot = make('b', box);
    span.style.left = interval.low * 100 + '%'; span.style.width = Math.max((interval.high - interval.low) * 100, .5) + '%';
    dot.style.left = mean * 100 + '%';
    box.title = `${percent(mean)} (95%: ${percent(interval.low)} to ${percent(interval.high)})`;
    make('span', parent, ` ${percent(interval.low)} to ${percent(interval.high)}`, 'dim');
  }

  const shown_as = measure => value => value === null || value === undefined ? '-' : measure.rate || measure.label.startsWith('%') ? percent(value) : value.toFixed(0);
  // The columns of the main measures, each with its intervals.
  function measured() {
    const columns = [];
    for (const measure of index.measures.filter(measure => measure.main)) {
      const own = row => row.scores[measure.name], value = row => own(row) ? own(row).value : null;
      columns.push(figure(measure.label, value, shown_as(measure)));
      if (!measure.rate) continue;
      columns.push({ name: '95%', key: value, cell: (td, row) => range(td, value(row), own(row) && own(row).interval) });
      if (measure.success) columns.push(words('Wilson', row => own(row) && own(row).wilson ? `${percent(own(row).wilson.low)} to ${percent(own(row).wilson.high)}` : '-'));
    }
    return columns;
  }
  const measure_label = name => (index.measures.find(measure => measure.name === name) || { label: name }).label;

  function overview(main) {
    const summary = index.summary;
    const open = index.planned > index.rows.length ? ` of ${index.planned}` : '';
    make('h1', main, `${index.name}: ${index.rows.length}${open} attempts at ${index.tasks.length} tasks`);
    const trouble = ['infrastructure', 'quarantined', 'unfit'].map(what => [what, index.rows.filter(row => row.standing === what).length]).filter(([, n]) => n);
    if (trouble.length) {
      const line = make('p', main);
      make('span', line, 'not scored, and counted apart: ');
      for (const [what, count] of trouble) { link(line, `${count} ${what}`, 'tasks?' + part(what), 'chip odd'); make('span', line, ' ') }
    }
    table(main, 'main', [
      words('suite', row => row.suite), words('solver', row => row.solver),
      words('had', row => [row.writer.trace && 'trace', row.writer.execute && 'runs'].filter(Boolean).join(', ') || 'nothing'),
      figure('tasks', row => row.scored), ...measured(),
      figure('writing', row => row.writing_seconds, time),
      figure('tokens spent', row => row.tokens_in === null ? null : row.tokens_in + row.tokens_out, v => v.toFixed(0)), figure('cost $', row => row.price, v => v.toFixed(2)),
      figure('infrastructure', row => row.infrastructure), figure('quarantined', row => row.quarantined), figure('unfit', row => row.unfit),
    ], summary.suites);
    make('h2', main, 'Not faithful, or not scored');
    failing(main, index.rows.filter(row => row.what));
    const box = make('div', main, null, 'charts');
    draw(charts => charts.overview(box, index));
    if (summary.comparisons.length) {
      make('h2', main, 'Compared on the same tasks');
      table(main, 'compared', [
        words('solver', row => row.second), words('against', row => row.first), words('measure', row => measure_label(row.measure)),
        figure('tasks', row => row.paired.tasks), figure('mean', row => row.paired.second, shown => shown.toFixed(3)), figure('of the other', row => row.paired.first, v => v.toFixed(3)),
        figure('difference', row => row.paired.difference, v => (v > 0 ? '+' : '') + v.toFixed(3)),
        words('95%', row => `${row.paired.interval.low.toFixed(3)} to ${row.paired.interval.high.toFixed(3)}`), figure('p', row => row.paired.p, v => v.toFixed(4)),
        figure('better', row => row.better), figure('worse', row => row.worse),
      ], summary.comparisons);
    }
  }

  function failing(main, rows) {
    if (!rows.length) { make('p', main, 'Nothing.', 'dim'); return }
    table(main, 'failing', [
      { name: 'task', key: row => row.task, cell: (td, row) => link(td, row.task, attempt(row)) },
      words('solver', row => row.solver), { name: 'what', key: row => row.what, cell: (td, row) => make('span', td, row.what, 'chip ' + good(row)) },
      words('evidence', row => row.evidence, true),
    ], rows);
  }

  const attempt = (row, tab) => `task/${part(row.key)}/${part(row.solver)}/${row.repetition}/${tab || 'steps'}`;

  function matrix(main, query) {
    $('search').value = query;
    const wanted = query.toLowerCase();
    const fits = row => !wanted || [row.task, row.solver, row.what || 'faithful', row.standing, row.suite, row.evidence].some(text => text.toLowerCase().includes(wanted));
    const byTask = new Map();
    for (const row of index.rows) { if (!byTask.has(row.key)) byTask.set(row.key, []); byTask.get(row.key).push(row) }
    const kept = index.tasks.filter(task => (byTask.get(task.key) || []).some(fits));
    make('h1', main, `${kept.length} of ${index.tasks.length} tasks`);
    const columns = [
      words('suite', task => task.suite),
      { name: 'task', key: task => task.task, cell: (td, task) => { const rows = byTask.get(task.key); link(td, task.task, attempt(rows[0])) } },
      figure('calls', task => task.calls || null), figure('files', task => task.files || null),
    ];
    for (const solver of index.solvers) {
      const own = task => byTask.get(task.key).filter(row => row.solver === solver);
      const value = task => { const rows = own(task).filter(row => row.standing === 'scored'); return rows.length ? rows.reduce((sum, row) => sum + row.fidelity, 0) / rows.length : null };
      columns.push({ name: solver, key: value, cell: (td, task) => {
        for (const row of own(task)) { const chip = link(td, row.what || 'faithful', attempt(row), 'chip ' + good(row)); chip.title = row.evidence; make('span', td, ' ') }
      } });
      columns.push(figure('s', task => { const rows = own(task); return rows.length ? rows[0].seconds : null }, v => v.toFixed(1)));
    }
    table(main, 'matrix', columns, kept);
  }

  function tables(main) {
    for (const one of index.tables) {
      make('h2', main, one.title);
      const number = text => { const value = parseFloat(text); return Number.isNaN(value) ? text : value };
      table(main, 'table ' + one.name, one.heads.map(([name, isFigure], n) => ({ name, figure: isFigure, long: !isFigure, key: row => isFigure ? (row[n] === '-' ? null : number(row[n])) : row[n], cell: (td, row) => { td.textContent = row[n] } })), one.rows);
    }
  }

  // What is loaded when it is asked for: the data of a task, or a file of an original.
  function load(kind, key, then) {
    const name = `${kind}-${key}`;
    if (loaded.has(name)) { then(loaded.get(name)); return }
    if (!/^[0-9a-f]+$/.test(key)) { then(null); return }
    if (waiting.has(name)) { waiting.get(name).push(then); return }
    waiting.set(name, [then]);
    const script = document.createElement('script');
    script.src = `data/${name}.js`;
    script.onload = script.onerror = () => { arrived(name, null); };
    document.head.append(script);
  }
  function arrived(name, value) {
    if (value !== null) loaded.set(name, value);
    const all = waiting.get(name) || [];
    waiting.delete(name);
    for (const then of all) then(value);
  }

  const TABS = [['steps', 'Steps'], ['verdict', 'Verdict'], ['gist', 'Gist'], ['modules', 'Modules']];

  function task(main, [key, solver, repetition, tab, other]) {
    make('p', main, 'loading', 'dim');
    const hash = location.hash;
    load('task', key, data => {
      // Who has gone on meanwhile is not called back.
      if (hash !== location.hash) return;
      main.replaceChildren();
      if (!data) { make('p', main, 'There is no such task.'); return }
      const one = data.attempts.find(a => a.solver === solver && String(a.repetition) === repetition) || data.attempts[0];
      make('h1', main, data.task);
      const line = make('p', main);
      make('code', line, data.command || '');
      if (data.attempts.length > 1) {
        const chips = make('p', main);
        for (const each of data.attempts) {
          const chip = link(chips, `${each.solver} #${each.repetition}: ${each.what || 'faithful'}`, attempt({ ...each, key }, tab === 'align' ? 'steps' : tab), 'chip ' + good(each));
          if (each === one) chip.style.fontWeight = '700';
          make('span', chips, ' ');
        }
      }
      const bar = make('div', main, null, 'tabs');
      const tabs = data.attempts.length > 1 ? [...TABS, ['align', 'Beside another']] : TABS;
      for (const [name, title] of tabs) { const a = link(bar, title, attempt({ ...one, key }, name)); if (name === (tab || 'steps')) a.setAttribute('aria-current', 'page') }
      ({ steps, verdict, gist, modules, align }[tab] || steps)(main, one, data, other);
      findings = [...main.querySelectorAll('.found')]; at = -1;
      $('state').textContent = findings.length ? `${findings.length} findings` : '';
    });
  }

  function reply(parent, call) {
    const pair = make('div', parent, null, 'pair' + (call.refused ? ' found' : '')), left = make('div', pair), right = make('div', pair);
    make('strong', left, call.tool); make('pre', left, call.arguments);
    make('span', right, call.seconds === null ? 'no answer' : time(call.seconds) + (call.refused ? ', refused' : ''), call.refused ? 'chip bad' : 'dim'); make('pre', right, call.content);
  }

  function steps(main, one) {
    const effort = one.effort;
    if (effort) make('p', main, `${one.outcome || ''}; ${effort.steps} steps, ${effort.tokens_in} tokens in (${effort.tokens_cached} cached), ${effort.tokens_out} out, ${time(effort.wall_seconds)}` + (effort.price === null ? '' : `, $${effort.price.toFixed(4)}`), 'dim');
    if (!one.steps.length) make('p', main, 'No step was recorded.', 'dim');
    const chart = make('div', main);
    draw(charts => charts.steps(chart, one));
    const end = one.steps.reduce((most, step) => Math.max(most, step.seconds), 0) || 1;
    let before = 0;
    for (const step of one.steps) {
      const box = make('div', main, null, 'step'), head = make('div', box, null, 'head');
      make('strong', head, step.role === 'assistant' ? `step ${step.step}` : step.role);
      make('span', head, `${time(step.seconds)}`, 'dim');
      const wait = make('span', head, null, 'bar'); wait.style.width = Math.max(0, (step.seconds - before) / end * 10) + 'rem'; wait.title = `${time(step.seconds - before)} since the step before`;
      before = step.seconds;
      if (step.tokens) make('span', head, `${step.tokens[0]} in, ${step.tokens[1]} out, ${step.tokens[2]} cached`, 'dim');
      if (step.fault) make('span', head, step.fault, 'chip bad found');
      if (step.reasoning) make('pre', box, step.reasoning, 'dim');
      if (step.content) make('pre', box, step.content);
      for (const call of step.calls) reply(box, call);
    }
  }

  function verdict(main, one) {
    const head = make('p', main);
    make('span', head, one.what || 'faithful', 'chip ' + good(one));
    make('span', head, ' ' + one.evidence);
    const scores = make('table', make('div', main, null, 'scroll'));
    for (const measure of index.measures) {
      const value = one.scores[measure.name], line = make('tr', scores);
      line.title = measure.doc;
      make('td', line, measure.label); make('td', line, shown_as(measure)(value), 'figure');
    }
    if (one.differences.length) make('h2', main, `What differs (${one.differences.length} of ${one.different})`);
    for (const each of one.differences) {
      const box = make('div', main, null, 'step found'), line = make('div', box, null, 'head');
      make('strong', line, each.what); make('span', line, `${each.case} ${each.phase}`, 'dim');
      const pair = make('div', box, null, 'pair'), left = make('div', pair), right = make('div', pair);
      make('span', left, 'the original', 'dim'); lines(left, each.expected, each.found, 'old');
      make('span', right, 'the gist', 'dim'); lines(right, each.found, each.expected, 'new');
    }
    const second = one.verification;
    if (second) {
      make('h2', main, second.verified ? 'Verified' : 'Not verified');
      if (second.reason) make('p', main, second.reason);
      for (const each of second.grounded.foreign) { const line = make('p', main, null, 'found'); make('span', line, 'foreign', 'chip bad'); make('span', line, ` line ${each.line}: ${each.text} (${each.reason})`) }
    }
    if (one.notes.length) make('h2', main, 'Notes');
    for (const each of one.notes) make('p', main, (each.line ? `line ${each.line}: ` : '') + each.evidence, 'found');
  }

  // A text by its lines; those that the other one has not are marked.
  function lines(parent, text, other, name) {
    const known = new Set(other.split('\n')), pre = make('pre', parent);
    for (const line of text.split('\n')) make('div', pre, line || ' ', known.has(line) ? '' : name);
  }

  function gist(main, one, data, wantedLine) {
    if (!one.gist) { make('p', main, 'No gist was written.', 'dim'); return }
    const count = name => one.gist.filter(line => line[name]).length;
    make('p', main, `${one.gist.length} lines; ${count('missing')} not in the original, ${count('idle')} not executed`, 'dim');
    const key = make('p', main); make('span', key, '+ in the original  ', 'dim'); make('span', key, '! not in it', 'chip bad'); make('span', key, '  '); make('span', key, '○ not executed', 'chip odd'); make('span', key, '  ● executed, or nothing to execute', 'dim');
    if (!one.mapped) make('p', main, 'The writer gave no source map: lines are matched by their text and block.', 'dim');
    const code = make('div', main, null, 'code'), left = make('div', code), right = make('div', code), head = make('strong', right), pane = make('div', right, null, 'source');
    let open = '', wanted = 0;
    // The whole file beside the gist, at one line.
    const source = ([path, number]) => {
      head.textContent = `${path}:${number}`;
      wanted = number;
      if (open !== path) {
        open = path;
        pane.replaceChildren();
        load('source', (one.sources || {})[path] || '', text => { if (open === path) whole(path, text) });
      }
      show();
    };
    const whole = (path, text) => {
      if (text === null) { make('p', pane, 'The record has no text of this file.', 'dim'); return }
      const used = new Map();
      one.gist.forEach((line, n) => { if (line.origin && line.origin[0] === path && !used.has(line.origin[1])) used.set(line.origin[1], n) });
      pane.replaceChildren(...text.replace(/\r?\n$/, '').split(/\r\n|\r|\n/).map((text, n) => {
        const row = make('div', null, null, 'line' + (used.has(n + 1) ? ' used' : ''));
        make('span', row, n + 1, 'number'); make('span', row, text, 'text');
        if (used.has(n + 1)) row.onclick = () => { const there = rows[used.get(n + 1)]; there.click(); there.scrollIntoView({ block: 'center' }) };
        return row;
      }));
      coloured(text.replace(/\r\n?/g, '\n'), all => { if (open === path) [...pane.children].forEach((row, n) => paint(row.lastChild, all[n])) });
      show();
    };
    const show = () => {
      pane.querySelectorAll('.here').forEach(each => each.classList.remove('here'));
      const row = pane.children[wanted - 1];
      if (!row || !row.classList.contains('line')) return;
      row.classList.add('here');
      pane.scrollTop = row.offsetTop - pane.clientHeight / 2;
    };
    const rows = one.gist.map((line, n) => {
      const row = make('div', null, null, 'line' + (line.missing ? ' missing found' : line.idle ? ' idle found' : ''));
      row.tabIndex = -1;
      make('span', row, n + 1, 'number');
      make('span', row, line.missing ? '!' : line.text.trim() ? '+' : '', 'sign');
      make('span', row, !one.judged_execution || !line.text.trim() ? '' : line.idle ? '○' : '●', 'sign');
      make('span', row, line.text, 'text');
      make('span', row, line.origin ? line.origin.join(':') : line.glue ? 'glue: ' + line.glue : '', 'origin');
      row.title = [line.missing && 'not in the original: ' + line.missing, line.idle && 'not counted as executed: ' + line.idle, line.glue && 'glue: ' + line.glue].filter(Boolean).join('\n');
      row.onclick = () => { left.querySelectorAll('.here').forEach(each => each.classList.remove('here')); row.classList.add('here'); if (line.origin) source(line.origin); shown = '#/' + attempt({ ...one, key: data.key }, 'gist') + '/' + (n + 1); history.replaceState(null, '', shown) };
      return row;
    });
    left.append(...rows);
    coloured(one.gist.map(line => line.text).join('\n'), all => rows.forEach((row, n) => paint(row.children[3], all[n])));
    const first = one.gist.find(line => line.origin), linked = rows[wantedLine - 1];
    if (linked) { linked.click(); linked.scrollIntoView({ block: 'center' }) }
    else if (first) source(first.origin);
    else make('p', pane, 'No line of the gist is in the original.', 'dim');
  }

  function modules(main, one, data) {
    const touched = data.touched;
    if (!touched || !touched.modules.length) { make('p', main, 'The record has no trace of the command.', 'dim'); return }
    const used = new Set((one.gist || []).filter(line => line.origin).map(line => line.origin[0]));
    const flame = make('div', main);
    draw(charts => charts.executed(flame, one, touched));
    make('p', main, `${touched.modules.length} modules that the command executes, ${touched.left_out} more not shown. Larger circles execute more lines; outlined ones have lines in the gist.`, 'dim');
    const n = touched.modules.length, depth = Array(n).fill(0), size = 900;
    for (let round = 0; round < 30; round++) for (const [from, to] of touched.imports) if (depth[to] < depth[from] + 1 && depth[from] < 12) depth[to] = depth[from] + 1;
    const levels = [];
    touched.modules.forEach((_, at) => (levels[depth[at]] ||= []).push(at));
    const rows = levels.filter(Boolean), height = Math.max(rows.length * 90, 160), place = [];
    rows.forEach((row, y) => row.forEach((module, x) => { place[module] = [(x + .5) * size / row.length, (y + .5) * height / rows.length + (x % 2) * 18] }));
    const drawing = svg('svg', make('div', main, null, 'scroll'), { class: 'graph', viewBox: `0 0 ${size} ${height + 30}`, width: size, role: 'img' });
    const edges = touched.imports.map(([from, to]) => [from, to, svg('line', drawing, { x1: place[from][0], y1: place[from][1], x2: place[to][0], y2: place[to][1] })]);
    touched.modules.forEach((module, at) => {
      const [x, y] = place[at], circle = svg('circle', drawing, { cx: x, cy: y, r: 4 + Math.min(Math.sqrt(module.test_lines), 16), stroke: used.has(module.path) ? 'currentColor' : 'none', 'stroke-width': 2 });
      const title = svg('title', circle, {}); title.textContent = `${module.path}: ${module.test_lines} lines ran during the test, ${module.import_lines} before, of ${module.lines}`;
      const label = svg('text', drawing, { x, y: y - 8 - Math.min(Math.sqrt(module.test_lines), 16), 'text-anchor': 'middle' }); label.textContent = n > 40 ? '' : module.path.split('/').slice(-2).join('/');
      circle.onmouseenter = () => edges.forEach(([from, to, line]) => line.setAttribute('class', from === at || to === at ? 'hot' : ''));
    });
    table(main, 'modules', [words('module', row => row.path, true), figure('ran in the test', row => row.test_lines), figure('ran before', row => row.import_lines), figure('lines', row => row.lines), words('in the gist', row => used.has(row.path) ? 'yes' : '')], touched.modules);
  }

  // Two attempts, their calls aligned by the longest common subsequence.
  function align(main, one, data, other) {
    const rest = data.attempts.filter(each => each !== one), second = rest[Number(other) || 0] || rest[0];
    const chips = make('p', main, `${one.solver} #${one.repetition} beside `);
    rest.forEach((each, n) => { link(chips, `${each.solver} #${each.repetition}`, attempt({ ...one, key: data.key }, 'align') + '/' + n, 'chip' + (each === second ? ' good' : '')); make('span', chips, ' ') });
    const calls = of => of.steps.flatMap(step => step.calls.map(call => ({ ...call, step: step.step })));
    const a = calls(one).slice(0, 600), b = calls(second).slice(0, 600), same = (x, y) => x.tool === y.tool && x.arguments === y.arguments;
    const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) length[i][j] = same(a[i], b[j]) ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    let i = 0, j = 0;
    const cell = (parent, call) => { const box = make('div', parent); if (!call) return; make('strong', box, `step ${call.step}: ${call.tool}`); make('pre', box, call.arguments); make('pre', box, call.content, 'dim') };
    while (i < a.length || j < b.length) {
      const both = i < a.length && j < b.length && same(a[i], b[j]);
      const mine = both || (i < a.length && (j >= b.length || length[i + 1][j] >= length[i][j + 1]));
      const pair = make('div', main, null, 'pair' + (both ? '' : ' apart found'));
      cell(pair, mine ? a[i] : null); cell(pair, both || !mine ? b[j] : null);
      if (mine) i++;
      if (both || !mine) j++;
    }
    make('h2', main, 'Gists');
    const pair = make('div', main, null, 'pair'), text = each => (each.gist || []).map(line => line.text).join('\n');
    lines(make('div', pair), text(one), text(second), 'old'); lines(make('div', pair), text(second), text(one), 'new');
  }

  function jump(by) {
    if (!findings.length) return;
    at = (at + by + findings.length) % findings.length;
    document.querySelectorAll('main .here').forEach(each => each.classList.remove('here'));
    const found = findings[at];
    found.classList.add('here');
    if (found.onclick) found.click();
    found.scrollIntoView({ block: 'center' });
    $('state').textContent = `finding ${at + 1} of ${findings.length}`;
  }

  function route() {
    if (!index) return;
    const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
    const parts = path.split('/').map(text => { try { return decodeURIComponent(text) } catch { return text } });
    const main = $('main'), hash = location.hash;
    if (hash !== shown) scrollTo(0, 0);
    shown = hash; main.replaceChildren(); findings = []; long = []; at = -1; $('state').textContent = '';
    document.title = 'gistify: ' + index.name;
    if (parts[0] === 'task') task(main, parts.slice(1));
    else if (parts[0] === 'tasks') matrix(main, query === undefined ? '' : decodeURIComponent(query));
    else if (parts[0] === 'tables') tables(main);
    else overview(main);
  }

  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.tagName === 'INPUT') { if (event.key === 'Escape') event.target.blur(); return }
    const parts = location.hash.replace(/^#\/?/, '').split('/');
    if (event.key === '/') { event.preventDefault(); $('search').focus() }
    else if (event.key === 'n') jump(1);
    else if (event.key === 'p') jump(-1);
    else if ((event.key === '[' || event.key === ']') && parts[0] === 'task') {
      const place = index.tasks.findIndex(task => task.key === parts[1]), next = index.tasks[place + (event.key === ']' ? 1 : -1)];
      if (next) { parts[1] = next.key; location.hash = '#/' + parts.slice(0, 5).join('/') }
    } else if (/^[1-4]$/.test(event.key) && parts[0] === 'task') { parts[4] = TABS[event.key - 1][0]; location.hash = '#/' + parts.slice(0, 5).join('/') }
  });
  let typing = 0;
  $('search').addEventListener('input', event => { clearTimeout(typing); const text = event.target.value; typing = setTimeout(() => { history.replaceState(null, '', '#/tasks?' + part(text)); route() }, 120) });
  for (const what of ['scroll', 'resize']) addEventListener(what, () => long.forEach(near => near(false)), { passive: true, capture: true });
  addEventListener('hashchange', () => { $('search').blur(); route() });

  // A page that is served asks for what is new.
  if (location.protocol.startsWith('http')) setInterval(() => {
    fetch('data/version').then(answer => answer.text()).then(version => {
      if (!index || version === index.version) return;
      for (const name of loaded.keys()) if (name.startsWith('task-')) loaded.delete(name);
      const script = document.createElement('script');
      script.src = 'data/index.js?' + part(version);
      document.head.append(script);
    }).catch(() => {});
  }, 4000);

  return {
    index: value => { const fresh = !index; index = value; if (fresh || !location.hash.startsWith('#/task/')) route() },
    task: (key, value) => arrived(`task-${key}`, value),
    source: (key, value) => arrived(`source-${key}`, value),
    drawing: made => { charts = made({ make, percent, time, attempt }) },
  };
})();
