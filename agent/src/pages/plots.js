'use strict';
// The charts of the report, drawn by Observable Plot. They are loaded when the first of them is needed, and make text
// of everything, as the page does.
gistify.drawing(({ make, percent, time, attempt }) => {
  const WIDTH = 640, DOTS = 1500;
  const number = value => value >= 1000 ? Math.round(value).toLocaleString('en') : String(+value.toPrecision(3));
  const rate = { domain: [0, 1], tickFormat: value => value * 100, grid: true };
  const log = { type: 'log', tickFormat: number, ticks: 5 };
  // Room for the longest name at the left.
  const left = names => 20 + 6.3 * Math.min(Math.max(...names.map(name => name.length), 4), 30);
  const short = name => name.length > 30 ? name.slice(0, 29) + '…' : name;

  // A chart with its title, and the colours of its series where there are several.
  function chart(parent, title, options, series) {
    const box = make('figure', parent, null, 'chart');
    make('figcaption', box, title);
    const width = Math.max(Math.min(WIDTH, box.clientWidth - 30), 280);
    const drawn = Plot.plot({ className: 'plot', width, style: { background: 'none' }, ariaLabel: title, ...options });
    if (series && series.length > 1) {
      const key = make('p', box, null, 'key'), colour = drawn.scale('color');
      for (const name of series) { const mark = make('i', key); mark.style.background = colour.apply(name); make('span', key, name) }
    }
    make('div', box, null, 'scroll').append(drawn);
  }

  // At most `most` of the values, evenly spaced: charts of all would be too slow.
  const some = (values, most) => values.length <= most ? values : values.filter((_, at) => Math.floor(at * most / values.length) !== Math.floor((at - 1) * most / values.length));

  function overview(parent, index) {
    const { summary, solvers } = index, color = { domain: solvers };
    const main = index.measures.filter(measure => measure.main && measure.success);
    const suites = summary.suites, many = new Set(suites.map(row => row.suite)).size > 1;
    for (const measure of main) {
      const rows = suites.filter(row => row.scores[measure.name]).map(row => {
        const score = row.scores[measure.name], interval = score.wilson || score.interval || { low: score.value, high: score.value };
        return { suite: row.suite, solver: row.solver, value: score.value, low: interval.low, high: interval.high };
      });
      if (!rows.length) continue;
      const facet = many ? { fy: 'suite' } : {};
      chart(parent, `${measure.label} by solver, with 95% intervals`, {
        marginLeft: left(solvers), marginRight: many ? left(suites.map(row => row.suite)) : 20, x: { ...rate, label: '%' }, y: { label: null, domain: solvers, tickFormat: short }, fy: { label: null }, color,
        marks: [
          Plot.ruleY(rows, { ...facet, y: 'solver', x1: 'low', x2: 'high', stroke: 'solver', strokeWidth: 3, strokeOpacity: .45 }),
          Plot.dot(rows, { ...facet, y: 'solver', x: 'value', fill: 'solver', r: 4.5, title: row => `${row.solver}, ${row.suite}: ${percent(row.value)} (${percent(row.low)} to ${percent(row.high)})` }),
        ],
      });
    }
    const scored = index.rows.filter(row => row.standing === 'scored' && row.fidelity !== null);
    for (const by of ['calls', 'files']) {
      const parts = summary.lengths.filter(row => row.by === by && row.fidelity !== null);
      if (!parts.length) continue;
      const sizes = new Map(index.tasks.map(task => [task.key, task[by]]));
      const dots = some(scored.filter(row => sizes.get(row.key) > 0), DOTS);
      chart(parent, `fidelity by ${by} of the command: attempts, and means of quarters with 95% intervals`, {
        x: { ...log, label: by }, y: { ...rate, domain: [-.04, 1.04], label: '% fidelity' }, color,
        marks: [
          Plot.rect(parts.filter(row => row.interval), { x1: 'from', x2: 'to', y1: row => row.interval.low, y2: row => row.interval.high, fill: 'solver', fillOpacity: .12 }),
          Plot.link(parts, { x1: 'from', x2: 'to', y1: 'fidelity', y2: 'fidelity', stroke: 'solver', strokeWidth: 2.5, title: row => `${row.solver}, ${row.from} to ${row.to} ${by}: ${percent(row.fidelity)} of ${row.tasks} tasks` }),
          Plot.dot(dots, { x: row => sizes.get(row.key), y: 'fidelity', stroke: 'solver', r: 3, href: row => '#/' + attempt(row), title: row => `${row.task}, ${row.solver}: ${percent(row.fidelity)}` }),
        ],
      }, solvers);
    }
    const spent = [
      ['tokens', 'tokens of a task, read and written', row => row.tokens_in === null ? null : row.tokens_in + row.tokens_out, number],
      ['dollars', 'cost of all tasks in dollars', row => row.price, number],
      ['seconds', 'seconds of writing, median', row => row.writing_seconds, time],
    ];
    const strict = main.find(measure => measure.name.endsWith('strict')) || main[0];
    for (const [name, label, of, show] of strict ? spent : []) {
      const rows = suites.filter(row => of(row) > 0 && row.scores[strict.name]).map(row => ({ solver: row.solver, suite: row.suite, x: of(row), y: row.scores[strict.name].value }));
      if (!rows.length) continue;
      chart(parent, `fidelity against ${name}`, {
        x: { ...log, label }, y: { ...rate, domain: [-.04, 1.04], label: '% fidelity' }, color,
        marks: [Plot.dot(rows, { x: 'x', y: 'y', fill: 'solver', r: 5, title: row => `${row.solver}, ${row.suite}: ${percent(row.y)}, ${show(row.x)}` })],
      }, solvers);
    }
    allSteps(parent, index);
    const spread = [['lines', 'lines of gists', { ...log, label: 'lines' }], ['sensitivity', 'mutants that the gist detects, of those that the original\'s test detects', { ...rate, label: '%' }]];
    for (const [name, title, x] of spread) {
      const rows = some(scored.filter(row => row[name] > 0 || (name === 'sensitivity' && row[name] === 0)), DOTS * 4);
      if (rows.length < 2) continue;
      chart(parent, title, {
        marginLeft: left(solvers), x, y: { label: null, domain: solvers, tickFormat: short }, color,
        marks: [Plot.boxX(rows, { x: name, y: 'solver', fill: 'solver', fillOpacity: .35, r: 2 })],
      });
    }
  }

  // Where tokens went: the mean of a solver's attempts at each step.
  function allSteps(parent, index) {
    const kinds = ['read', 'read from the cache', 'written'];
    const parts = index.tokens_by_step.flatMap(({ solver, step, tokens }) => kinds.map((kind, at) => ({ solver, step, kind, tokens: tokens[at] })));
    if (!parts.length) return;
    const solvers = index.solvers.filter(solver => parts.some(part => part.solver === solver)), facet = solvers.length > 1 ? { fy: 'solver' } : {};
    const every = Math.ceil(Math.max(...parts.map(part => part.step)) / 20);
    chart(parent, 'tokens by step: mean of the attempts, where one that has ended counts as 0', {
      height: Math.max(220, solvers.length * 120), marginLeft: 60, marginRight: facet.fy ? left(solvers) : 20, x: { label: 'step', type: 'band', tickFormat: step => step % every ? '' : step }, y: { label: 'tokens', grid: true, tickFormat: number }, fy: { label: null, domain: solvers, tickFormat: short }, color: { domain: kinds },
      marks: [Plot.barY(parts, { ...facet, x: 'step', y: 'tokens', fill: 'kind', title: part => `${part.solver}, step ${part.step}: ${number(part.tokens)} ${part.kind}` }), Plot.ruleY([0])],
    }, kinds);
  }

  // Tokens of an attempt's steps.
  function steps(parent, one) {
    const parts = one.steps.filter(step => step.tokens).flatMap(({ step, tokens: [read, written, cached] }) => [
      { step, kind: 'read', tokens: read - cached }, { step, kind: 'read from the cache', tokens: cached }, { step, kind: 'written', tokens: written },
    ]);
    if (!parts.some(part => part.tokens > 0)) return;
    const series = ['read', 'read from the cache', 'written'];
    chart(parent, 'tokens by step', {
      height: 220, marginLeft: 60, x: { label: 'step', type: 'band', tickFormat: number }, y: { label: 'tokens', grid: true, tickFormat: number }, color: { domain: series },
      marks: [Plot.barY(parts, { x: 'step', y: 'tokens', fill: 'kind', title: part => `step ${part.step}: ${number(part.tokens)} ${part.kind}` }), Plot.ruleY([0])],
    }, series);
  }

  // What a command executes, by directory, file, class and function, from the root at the top; what the gist keeps of it
  // is filled. A line counts for the innermost of them.
  function executed(parent, one, touched) {
    const kept = new Map();
    for (const line of one.gist || []) {
      if (!line.origin || line.idle || !line.text.trim()) continue;
      if (!kept.has(line.origin[0])) kept.set(line.origin[0], new Set());
      kept.get(line.origin[0]).add(line.origin[1]);
    }
    const node = (name, executed) => ({ name, executed, kept: 0, below: [] });
    const root = node('all', 0), folders = new Map();
    for (const module of touched.modules) {
      let folder = root, path = '';
      for (const name of module.path.split('/')) {
        path += '/' + name;
        if (!folders.has(path)) { folders.set(path, node(name, 0)); folder.below.push(folders.get(path)) }
        folder = folders.get(path);
      }
      const definitions = (module.definitions || []).map(each => ({ ...each, ...node(each.name, each.executed) })), around = [];
      // An outer definition comes before those inside it.
      for (const each of definitions) {
        while (around.length && around[around.length - 1].last < each.first) around.pop();
        (around[around.length - 1] || folder).below.push(each);
        around.push(each);
      }
      // Records of earlier versions count a line twice that is executed both while its module is imported and later.
      const all = module.executed || Math.min(module.test_lines + module.import_lines, module.lines || Infinity);
      folder.executed = Math.max(all - d3.sum(definitions, each => each.executed), definitions.length ? 0 : 1);
      for (const line of kept.get(module.path) || []) (definitions.findLast(each => each.first < line && line <= each.last) || folder).kept++;
    }
    const tree = d3.hierarchy(root, each => each.below).sum(each => each.executed).sort((a, b) => b.value - a.value);
    const own = each => d3.sum(each.descendants(), below => below.data.kept);
    const height = (tree.height + 1) * 26, WIDE = 1200;
    const cells = d3.partition().size([WIDE, height])(tree).descendants().filter(node => node.x1 - node.x0 >= .5);
    const box = make('figure', parent, null, 'chart wide');
    make('figcaption', box, 'lines that the command executes, by directory, file, class and function; the filled part is in the gist');
    const drawing = d3.select(make('div', box, null, 'scroll')).append('svg').attr('class', 'flame').attr('viewBox', `0 0 ${WIDE} ${height}`).attr('role', 'img').attr('aria-label', 'lines that the command executes');
    const cell = drawing.selectAll('g').data(cells).join('g').attr('transform', node => `translate(${node.x0},${node.y0})`);
    const wide = node => Math.max(node.x1 - node.x0 - 1, .5);
    cell.append('rect').attr('class', 'ran').attr('width', wide).attr('height', 25);
    cell.append('rect').attr('class', 'kept').attr('height', 25).attr('width', node => wide(node) * Math.min(own(node) / node.value, 1));
    cell.append('text').attr('x', 4).attr('y', 16).text(node => {
      const room = Math.floor((wide(node) - 8) / 6.2), name = node.data.name;
      return room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '…';
    });
    cell.append('title').text(node => `${node.ancestors().reverse().slice(1).map(each => each.data.name).join('/') || 'all'}: ${node.value} lines executed, ${own(node)} lines in the gist`);
  }

  return { overview, steps, executed };
});
