// main.js - puts the page together: what is shown, search, colours, keys, print.

function showTip(e, lines) {
	const tip = $('tip');

	tip.replaceChildren(...lines.map(([text, kind]) => {
		const line = document.createElement(kind === 'name' ? 'b' : 'div');

		line.textContent = text;
		return line;
	}));
	tip.hidden = false;
	tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = (e.clientY + 22 + tip.offsetHeight < innerHeight ? e.clientY + 18 : e.clientY - tip.offsetHeight - 12) + 'px';
}

function hideTip() {
	$('tip').hidden = true;
}

// Buttons of which one is chosen; arrow keys move the choice.
class Choice {
	constructor(box, names, chosen, onChange) {
		Object.assign(this, { box, names, onChange });
		box.replaceChildren(...Object.entries(names).map(([key, text]) => {
			const button = document.createElement('button');

			button.type = 'button';
			button.setAttribute('role', 'radio');
			button.dataset.key = key;
			button.textContent = text;
			return button;
		}));
		box.addEventListener('click', (e) => e.target.dataset.key && this.choose(e.target.dataset.key));
		box.addEventListener('keydown', (e) => this.onKey(e));
		this.mark(chosen);
	}

	mark(key) {
		this.key = key;
		for (const button of this.box.children) {
			button.setAttribute('aria-checked', button.dataset.key === key);
			button.tabIndex = button.dataset.key === key ? 0 : -1;
		}
	}

	choose(key) {
		if (key === this.key)
			return;
		this.mark(key);
		this.onChange(key);
	}

	onKey(e) {
		const keys = Object.keys(this.names), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];

		if (!step)
			return;
		e.preventDefault();
		this.choose(keys[(keys.indexOf(this.key) + step + keys.length) % keys.length]);
		this.box.querySelector('[aria-checked=true]').focus();
	}
}

const METRICS = { live: 'Live', peak: 'Peak', allocated: 'Allocated', temporary: 'Temporary', grew: 'Growth', shrank: 'Shrinkage' };
const MEANINGS = {
	live: () => 'Live: allocated and not freed yet.',
	peak: (m) => `Peak: what was alive when the heap was largest, at ${timeText(m.data.totals.peak_s)}.`,
	allocated: () => 'Allocated: everything since the start, freed or not.',
	temporary: () => 'Temporary: allocated and freed again.',
	grew: (m) => `Growth: call paths that hold more at ${m.to.name} (${timeText(m.to.time)}) than at ${m.from.name} (${timeText(m.from.time)}).`,
	shrank: (m) => `Shrinkage: call paths that hold less at ${m.to.name} (${timeText(m.to.time)}) than at ${m.from.name} (${timeText(m.from.time)}).`,
};

// Of a diff: its widths are those of one side, or of what changed; its colours always the change.
const SIDES = { change: 'Change', live: 'B', before: 'A', grew: 'Grown', shrank: 'Shrunk' };
const COLOURED = ' Red: B has more, blue: B has less, the stronger the larger the part that changed. Grey: no change';
const SIDE_MEANINGS = {
	change: () => 'Width: the change of each call path, be it more or less.',
	live: () => 'Width: what B has, as in Brendan Gregg\u2019s differential flame graphs. What is gone has no width: see A.',
	before: () => 'Width: what A has. What is new has no width: see B.',
	grew: () => 'Width: call paths of which B has more.',
	shrank: () => 'Width: call paths of which B has less.',
};

class Page {
	constructor(data) {
		this.model = new Model(data);
		this.colours = new Colours(this.model);
		this.metric = 'live';
		this.unit = data.diff && data.diff.value === 'blocks' ? 'blocks' : 'bytes';
		this.names = data.diff ? SIDES : METRICS;
		this.meanings = data.diff ? SIDE_MEANINGS : MEANINGS;
		this.curve = data.diff ? null : new Curve(this.model, this.colours, (a, b) => this.choose(a, b));
		this.flame = new Flame(this.model, this.colours, {
			zoomed: (node) => this.crumbs(node), said: (text) => ($('focus').textContent = text),
			values: (unit) => this.model.values(this.metric, unit) });
		this.tree = new Tree(this.model, { find: (node) => this.find(node), what: () => this.metric, title: () => this.names[this.metric] });
		this.makeTables();
		this.makeChoices();
		this.makeSearch();
		if (!data.diff)
			this.makeInstants();
		this.makeThemes();
		if (data.diff)
			this.makeDiff();
		else if (data.chosen)
			this.chooseMarks(data.chosen);
		else if (!data.totals.live_bytes)
			this.setMetric('allocated');
		if (data.diff)
			this.refresh();
		else
			this.chosen();
	}

	// --- what is shown

	makeDiff() {
		$('curve').closest('section').hidden = true;
		$('h-flame').textContent = 'What changed';
		if (this.model.values('change', this.unit).incl[0])
			this.setMetric('change');
	}

	refresh() {
		const values = this.model.values(this.metric, this.unit);

		$('meaning').textContent = this.meanings[this.metric](this.model) + this.colouring();
		$('flame').setAttribute('aria-label', `${this.names[this.metric]}, ${amountText(values.incl[0], this.unit)}`);
		this.flame.show(values, this.unit);
		this.tree.show(values, this.unit);
		this.tellFound();
	}

	colouring() {
		const { diff } = this.model;

		return !diff ? ` Colour: the ${this.flame.by} of the code.` : COLOURED + (diff.noise_rule ? ', or within the noise.' : '.');
	}

	setMetric(key) {
		this.metric = key;
		this.metrics.mark(key);
		this.refresh();
	}

	makeChoices() {
		const known = Object.entries(this.names).filter(([key]) => key !== 'peak' || this.model.data.peak_cells?.length);

		this.metrics = new Choice($('metric'), Object.fromEntries(known), this.metric, (key) => this.setMetric(key));
		new Choice($('unit'), { bytes: 'Bytes', blocks: 'Blocks' }, this.unit, (key) => {
			this.unit = key;
			this.refresh();
		});
		new Choice($('grow'), { down: 'Icicle', up: 'Flame' }, 'down', (key) => {
			this.flame.upwards = key === 'up';
			this.flame.placed = false;
			this.flame.layout();
		});
		this.makeColouring();
		new Choice($('invert'), { down: 'From the entry', up: 'From the allocation' }, 'down', (key) => {
			this.tree.inverted = key === 'up';
			this.tree.restart();
		});
		$('out').addEventListener('click', () => this.flame.zoom(0));
		$('rss').addEventListener('change', (e) => {
			this.curve.resident = e.target.checked;
			this.curve.draw();
		});
	}

	makeColouring() {
		this.flame.by = this.model.told;
		if (this.model.diff)
			$('by').remove();
		else
			new Choice($('by'), { library: 'Libraries', file: 'Files', function: 'Functions' }, this.flame.by, (key) => {
				this.flame.by = key;
				this.refresh();
			});
	}

	crumbs(node) {
		const { parent } = this.model.tree, path = [];

		for (let n = node; n > 0; n = parent[n])
			path.unshift(n);
		const shown = path.length > 9 ? [...path.slice(0, 3), -1, ...path.slice(-5)] : path;
		$('crumbs').replaceChildren(...(node ? [0, ...shown] : []).map((n) => {
			const button = document.createElement('button');

			button.type = 'button';
			button.textContent = n < 0 ? '\u2026' : this.model.name(n);
			button.disabled = n < 0;
			button.addEventListener('click', () => this.flame.zoom(n));
			return button;
		}));
	}

	find(node) {
		this.flame.zoom(node);
		$('flame').scrollIntoView({ block: 'nearest' });
	}

	// --- the change between two instants

	makeInstants() {
		for (const select of [$('from'), $('to')]) {
			select.replaceChildren(...this.model.instants.map((i) => new Option(`${i.name}, ${timeText(i.time)}, ${bytesText(i.bytes)}`, i.key)));
			select.addEventListener('change', () => this.choose(...[$('from'), $('to')].map((s) => this.model.instants[s.selectedIndex])));
		}
		$('whole').addEventListener('click', () => this.choose(this.model.instants[0], this.model.instants[this.model.instants.length - 1]));
	}

	chooseMarks([from, to]) {
		const at = (id, otherwise) => this.model.instants.find((i) => i.key === (id ? 'm' + id : otherwise));

		this.model.choose(at(from, 'start'), at(to, 'now'));
		this.setMetric('grew');
	}

	choose(from, to) {
		if (from === to)
			return;
		this.model.choose(from, to);
		if (this.model.wholeChosen ? this.metric === 'grew' || this.metric === 'shrank' : this.metric !== 'shrank')
			this.metrics.mark(this.metric = this.model.wholeChosen ? 'live' : 'grew');
		this.chosen();
	}

	chosen() {
		const { from, to, instants } = this.model, sum = (what, unit) => this.model.values(what, unit).incl[0];
		const net = sum('net', 'bytes'), minutes = (to.time - from.time) / 60, about = (text) => this.model.about(0, text);

		$('from').selectedIndex = instants.indexOf(from);
		$('to').selectedIndex = instants.indexOf(to);
		$('change').textContent = `From ${from.name} to ${to.name}, ${timeText(to.time - from.time)}: net ${about(signed(net, bytesText))}` +
			` in ${signed(sum('net', 'blocks'), countText)} blocks` +
			(from.exact && to.exact ? `; born ${about(bytesText(sum('born', 'bytes')))}, gone ${about(bytesText(sum('gone', 'bytes')))}` : '') +
			(minutes >= 1 / 6 ? `; ${signed(net / minutes, bytesText)}/min.` : '.');
		this.curve.draw();
		this.tables[0].draw();
		this.tables[1].draw();
		this.refresh();
	}

	// --- search

	makeSearch() {
		const input = $('search');
		let timer = 0;

		input.addEventListener('input', () => {
			clearTimeout(timer);
			timer = setTimeout(() => this.search(input.value.trim()), 120);
		});
		input.addEventListener('keydown', (e) => {
			if (e.key === 'Enter') {
				this.search(input.value.trim());
				this.step(e.shiftKey ? -1 : 1);
				if (this.found.length) // where n and N are keys
					$('flame').focus({ preventScroll: true });
			} else if (e.key === 'Escape') {
				input.value = '';
				this.search('');
				input.blur();
			}
		});
		document.addEventListener('keydown', (e) => this.onKey(e));
	}

	onKey(e) {
		if (e.target.closest('input, select') || e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === '/') {
			e.preventDefault();
			$('search').focus();
			$('search').select();
		} else if (e.key === 'n' || e.key === 'N') {
			this.step(e.key === 'n' ? 1 : -1);
		}
	}

	search(words) {
		if (words === this.words)
			return;
		this.words = words;
		this.model.search(words);
		this.flame.paint();
		this.tree.draw();
		for (const table of this.tables)
			table.search(words);
		this.tellFound();
	}

	tellFound() {
		const values = this.model.values(this.metric, this.unit), { nodes, sum } = this.model.topHits(values.incl);

		this.found = nodes;
		this.place = -1;
		$('found').textContent = !this.model.hits ? '' : nodes.length
			? `${countText(nodes.length)} call paths, ${amountText(sum, this.unit)} (${percentText(sum, values.incl[0])})` : 'no hit';
	}

	step(by) {
		if (!this.found || !this.found.length)
			return;
		this.place = (this.place + by + this.found.length) % this.found.length;
		this.find(this.found[this.place]);
	}

	// --- tables

	makeTables() {
		if (this.model.diff) {
			this.tables = [changedOwnersTable(this.model.data), changedSitesTable(this.model.data)];
			$('tables').append(...this.tables.map((t) => t.box));
			this.listen();
			return;
		}
		const { data } = this.model, pair = document.createElement('div');

		this.tables = [ownersTable(data, this.model), sitesTable(data, this.model)];
		const small = [...(data.marks.length ? [marksTable(data)] : []), ...(data.threads.length ? [threadsTable(data)] : []),
			...(data.resident.length ? [residentTable(data)] : []), ...(data.processes.length ? [processesTable(data)] : [])];

		pair.className = 'pair';
		pair.append(...small.map((t) => t.box));
		$('tables').append(...this.tables.map((t) => t.box), pair);
		for (const why of data.not_known) {
			const p = document.createElement('p');

			p.className = 'hint';
			p.textContent = why;
			$('tables').append(p);
		}
		this.listen();
		this.tables.push(...small);
	}

	listen() {
		for (const t of this.tables)
			t.onFind = (words) => {
				$('search').value = words;
				this.search(words);
			};
	}

	// --- colours, print

	makeThemes() {
		const dark = $('dark'), media = { auto: dark.media, light: 'not all', dark: 'screen' };
		const repaint = () => {
			this.colours.refresh();
			this.curve?.draw();
			this.curve?.legend($('legend'));
			this.flame.paint();
		};

		new Choice($('theme'), { auto: 'Auto', light: 'Light', dark: 'Dark' }, 'auto', (key) => {
			dark.media = media[key];
			repaint();
		});
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
		const print = (on) => {
			if (on)
				this.before = dark.media;
			dark.media = on ? 'not all' : this.before;
			this.flame.printing = on;
			if (this.curve)
				this.curve.printing = on;
			repaint();
			this.flame.layout();
		};
		addEventListener('beforeprint', () => print(true));
		addEventListener('afterprint', () => print(false));
		this.curve?.legend($('legend'));
	}
}

try {
	// for the console, and for tests
	window.memtopPage = new Page(await unpack($('data')));
	document.documentElement.dataset.ready = 'yes';
} catch (e) {
	$('problem').hidden = false;
	$('problem').textContent = typeof DecompressionStream === 'undefined'
		? 'This browser cannot unpack the page\'s data. One of 2023 or later can.' : `The page cannot be shown: ${e.message}`;
	console.error(e);
}
